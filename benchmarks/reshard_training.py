"""The speed of training while slots move, over its speed before and after."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tensorflow as tf
from reshard_cluster import FEW, MANY, Moved, MovingCluster, embedding

import persia_tf as ptf
from persia_tf._keras import keras

FEATURES = 8
_BATCHES = 100
_WARM_UP_STEPS = 20
# Ids are drawn with this power of a uniform number, so that some are frequent.
_SKEW = 3


def make_model(dim: int, cluster: ptf.Cluster) -> Any:
    """Returns a small click model, all of whose features use the one table."""
    ids = keras.Input((FEATURES,), dtype="int64")
    x = keras.layers.Flatten()(embedding(dim, cluster)(ids))
    x = keras.layers.Dense(128, activation="relu")(x)
    x = keras.layers.Dense(64, activation="relu")(x)
    model = keras.Model(ids, keras.layers.Dense(1)(x))
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def make_dataset(ids: np.ndarray, batch: int) -> tf.data.Dataset:
    """Returns batches of ids that are not equally frequent, without an end."""
    random = np.random.default_rng(0)
    shape = (_BATCHES, batch, FEATURES)
    drawn = (len(ids) * random.random(shape) ** _SKEW).astype(np.int64)
    labels = random.integers(0, 2, (_BATCHES, batch, 1)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((ids[drawn], labels)).repeat()


class Moves(keras.callbacks.Callback):
    """Alternates between training while slots move and training while none do.

    Args:
        cluster: The cluster that is trained on.
        rounds: How often slots move to the third shard and back.
        seconds: The least seconds without a move, before and after each.

    Attributes:
        ratios: For each move, the steps per second during it, over the mean of those
            before and after it.
        rates: The steps per second of each window without a move.
        moves: The moves.
    """

    def __init__(self, cluster: MovingCluster, rounds: int, seconds: float) -> None:
        super().__init__()
        self.ratios: list[float] = []
        self.rates: list[float] = []
        self.moves: list[Moved] = []
        self._cluster = cluster
        self._rounds = rounds
        self._seconds = seconds
        self._turns = self._take_turns()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch >= _WARM_UP_STEPS and next(self._turns, True):
            self.model.stop_training = True

    def _take_turns(self) -> Iterator[bool]:
        """Yields, after each step, whether training is over."""
        yield from self._without_move(self._seconds)
        with ThreadPoolExecutor(1) as pool:
            for turn in range(2 * self._rounds):
                shards = FEW if turn % 2 else MANY
                begin, steps = time.monotonic(), 0
                move = pool.submit(self._cluster.move, shards)
                while not move.done():
                    yield False
                    steps += 1
                rate = steps / (time.monotonic() - begin)
                self.moves.append(move.result())
                yield from self._without_move(
                    max(self._seconds, self.moves[-1].seconds)
                )
                self.ratios.append(rate / statistics.mean(self.rates[-2:]))

    def _without_move(self, seconds: float) -> Iterator[bool]:
        begin, steps = time.monotonic(), 0
        while time.monotonic() < begin + seconds:
            yield False
            steps += 1
        self.rates.append(steps / (time.monotonic() - begin))


def train(cluster: MovingCluster, rounds: int, seconds: float, batch: int) -> Moves:
    """Trains while slots move; returns the `Moves`."""
    # The cluster has two shards again, and a client finds the third when it joins.
    client = ptf.Cluster(cluster.addresses[:FEW])
    model = make_model(cluster.dim, client)
    dataset = ptf.data.prefetch(make_dataset(cluster.ids, batch), model)
    moves = Moves(cluster, rounds, seconds)
    model.fit(dataset, steps_per_epoch=10**9, verbose=0, callbacks=[moves])
    client.flush()
    return moves
