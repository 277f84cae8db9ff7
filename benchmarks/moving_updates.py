"""Whether training and updates lose anything while slots move to a shard and back.

    python benchmarks/moving_updates.py
    python benchmarks/moving_updates.py --rounds 20 --updaters 4
    python benchmarks/moving_updates.py --recovery-folder /mnt/disk

Two shards have two tables. One program trains a click model on the first table, with
staleness 0. Other programs update rows of the second table as fast as they can: rows of
slots that each move moves, by SGD of whole numbers, so that sums in float32 are exact.
Meanwhile a third shard joins, gets a third of the slots, and leaves again, over and
over. Training lasts as long as these moves. Then a cluster whose slots stay, and that
nothing else uses, trains the same model for as many steps. All processes are on this
machine. The figures:

    moves, longest_move_seconds            moves that began, all of which have ended
    row_updates_per_second_during_moves    of all updating programs, while slots moved
    bytes_over_moved_rows                  bytes of rows that the moves sent, over those
                                           of the rows that had to move
    sums_that_differ                       rows of the second table that are not the sum
                                           of their updates
    rows_that_differ                       rows of the first table that differ in a bit,
                                           optimizer state included
    steps                                  of training

Exits with status 1 if anything differs, and fails if a move does not end. The last line
is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import native_programs
import numpy as np
import tensorflow as tf
from reshard_cluster import FEW, MANY, TABLE, Moved, MovingCluster, running_cluster
from reshard_training import make_dataset, make_model
from w1_model import versions

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.table import Rows

GOALS = {
    "row_updates_per_second_during_moves": ">= 100000",
    "sums_that_differ": "0",
    "rows_that_differ": "0",
}
SUMS = "sums"
# What an update adds to each weight of a row.
ADDED = np.arange(1, 9, dtype="float32")
_MOVE_SECONDS = 300.0
# So many rounds of moves have the same slots move again, except for the first ones.
_MANY_ROUNDS = 100


def _batches(rows: int, batch: int, seed: int) -> np.ndarray:
    """Returns all rows' numbers in random order: int64 `(batches, batch)`."""
    return np.random.default_rng(seed).permutation(rows).reshape(-1, batch)


def _update(pipe: Connection, shards: list[str], batch: int, seed: int) -> None:
    """Updates rows, in a process of its own, from when it gets ids until it gets None.

    Sends True once all batches are warm, and when each ended once all are applied.
    """
    cluster = ptf.Cluster(shards)
    layer = ptf.layers.PersiaEmbedding(
        len(ADDED),
        table=SUMS,
        embeddings_initializer="zeros",
        optimizer=ptf.optimizers.SGD(1.0),
        cluster=cluster,
    )
    layer.build((None,))
    variables = layer.trainable_variables
    optimizer = keras.optimizers.SGD(0.0)
    optimizer.build(variables)

    @tf.function
    def update(ids: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            loss = -tf.reduce_sum(layer(ids, training=True) * ADDED)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    ids = pipe.recv()
    batches = [tf.constant(each) for each in ids[_batches(len(ids), batch, seed)]]
    ends: list[float] = []
    while not pipe.poll():
        update(batches[len(ends) % len(batches)])
        ends.append(time.monotonic())
        if len(ends) == len(batches):
            pipe.send(True)
    cluster.flush()
    pipe.send(ends)


class Updaters:
    """Programs that update rows, until they are closed.

    Args:
        count: How many.
        shards: "host:port" of the cluster's shards.
        ids: The ids of the rows.
        batch: How many rows an update updates: a divisor of the number of ids.
    """

    def __init__(
        self, count: int, shards: list[str], ids: np.ndarray, batch: int
    ) -> None:
        self._ids, self._batch = ids, batch
        self._processes: list[Any] = []
        self._pipes: list[Connection] = []
        context = multiprocessing.get_context("spawn")
        for seed in range(count):
            pipe, other_end = context.Pipe()
            settings = (other_end, shards, batch, seed)
            self._processes.append(context.Process(target=_update, args=settings))
            self._processes[-1].start()
            # Else the pipe of a program that fails would stay open.
            other_end.close()
            self._pipes.append(pipe)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.join()

    def wait_until_warm(self) -> None:
        """Starts the updates, and waits until each program has updated all its rows."""
        for pipe in self._pipes:
            pipe.send(self._ids)
        for pipe in self._pipes:
            pipe.recv()

    def end(self) -> tuple[np.ndarray, Rows]:
        """Ends the updates; returns when each ended, and the rows that they make."""
        for pipe in self._pipes:
            pipe.send(None)
        ends = [pipe.recv() for pipe in self._pipes]
        counts = np.zeros(len(self._ids), "float32")
        for seed, own in enumerate(ends):
            batches = _batches(len(self._ids), self._batch, seed)
            turns = np.arange(len(own)) % len(batches)
            counts[batches] += np.bincount(turns, minlength=len(batches))[:, None]
        no_state = np.empty((len(self._ids), 0), "float32")
        return np.concatenate(ends), Rows(self._ids, counts[:, None] * ADDED, no_state)


class Training(keras.callbacks.Callback):
    """A training whose table depends on the number of steps alone.

    Args:
        cluster: The cluster that is trained on.
        batch: The examples of a step.
        is_over: Whether training ends, called with the steps after each step.
    """

    def __init__(
        self, cluster: MovingCluster, batch: int, is_over: Callable[[int], bool]
    ) -> None:
        super().__init__()
        self.steps = 0
        self._cluster, self._batch, self._is_over = cluster, batch, is_over

    def run(self) -> Rows:
        """Trains; returns the trained table."""
        keras.utils.set_random_seed(7)
        client = ptf.Cluster(self._cluster.addresses[:FEW], staleness=0)
        model = make_model(self._cluster.dim, client)
        dataset = make_dataset(self._cluster.ids, self._batch)
        model.fit(dataset, steps_per_epoch=10**9, verbose=0, callbacks=[self])
        return table_of(TABLE, client)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.steps = batch + 1
        self.model.stop_training = self._is_over(self.steps)


def table_of(name: str, client: ptf.Cluster) -> Rows:
    """Returns all rows of a table."""
    parts = zip(*ptf.Table(name, client).export())
    return Rows(*(np.concatenate(part) for part in parts))


def count_different(one: Rows, other: Rows) -> int:
    """Counts the rows that differ in any bit, or that only one of two tables has."""
    bits, other_bits = (np.hstack(each[1:]).view("uint32") for each in (one, other))
    both, at, other_at = np.intersect1d(one.ids, other.ids, True, True)
    same = (bits[at] == other_bits[other_at]).all(axis=1)
    return len(one.ids) + len(other.ids) - len(both) - int(np.count_nonzero(same))


@contextlib.contextmanager
def cluster_of(arguments: argparse.Namespace) -> Iterator[MovingCluster]:
    """Runs a new cluster until the block ends."""
    with contextlib.ExitStack() as stack:
        folder = arguments.recovery_folder
        if folder is not None:
            made = tempfile.TemporaryDirectory(dir=folder)
            folder = Path(stack.enter_context(made))
        running = running_cluster(arguments.rows, arguments.dim, folder)
        yield stack.enter_context(running)


def train_while_slots_move(arguments: argparse.Namespace) -> tuple[dict, Rows]:
    """Returns all figures but `rows_that_differ`, and the trained table."""
    over = threading.Event()
    # The pool is the last to end: an error ends the shards that its threads wait for.
    with ThreadPoolExecutor(2) as pool, cluster_of(arguments) as cluster:
        ids, _ = cluster.moving_and_staying(_MANY_ROUNDS)
        ids = ids[: len(ids) // arguments.update_rows * arguments.update_rows]
        shards = cluster.addresses[:FEW]
        settings = (arguments.updaters, shards, ids, arguments.update_rows)
        with contextlib.closing(Updaters(*settings)) as others:
            others.wait_until_warm()
            training = Training(cluster, arguments.batch, lambda steps: over.is_set())
            trained = pool.submit(training.run)
            moves: list[Moved] = []
            while len(moves) < 2 * arguments.rounds or training.steps < arguments.steps:
                if trained.done():
                    raise RuntimeError("training has ended") from trained.exception()
                if not training.steps:
                    time.sleep(0.1)
                    continue
                for wanted in (MANY, FEW):
                    move = pool.submit(cluster.move, wanted)
                    moves.append(move.result(_MOVE_SECONDS))
            over.set()
            rows = trained.result()
            ends, sums = others.end()
        updated = table_of(SUMS, ptf.Cluster(shards))
    seconds = [move.seconds for move in moves]
    during = sum(((ends >= move.begin) & (ends < move.end)).sum() for move in moves)
    rate = float(during) * arguments.update_rows / sum(seconds)
    to_move = sum(move.rows for move in moves) * cluster.row_bytes
    to_move += len(moves) * len(ids) * (ids.itemsize + ADDED.nbytes)
    figures = {
        "moves": len(moves),
        "longest_move_seconds": max(seconds),
        "row_updates_per_second_during_moves": rate,
        "bytes_over_moved_rows": sum(move.progress.bytes for move in moves) / to_move,
        "sums_that_differ": count_different(updated, sums),
        "steps": training.steps,
    }
    return figures, rows


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--rows", type=int, default=1_000_000, help="trained rows (%(default)s)")
    add("--dim", type=int, default=16, help="weights of a trained row (%(default)s)")
    add("--rounds", type=int, default=10, help="least moves there and back (10)")
    add("--steps", type=int, default=1000, help="least steps (%(default)s)")
    add("--batch", type=int, default=256, help="examples of a step (%(default)s)")
    add("--updaters", type=int, default=2, help="updating programs (%(default)s)")
    add("--update-rows", type=int, default=4096, help="rows of an update (%(default)s)")
    add("--recovery-folder", help="a folder for recovery logs (shards have none)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.rounds, arguments.steps = 60_000, 1, 20
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    tf.config.experimental.enable_op_determinism()
    figures, rows = train_while_slots_move(arguments)
    with cluster_of(arguments) as still:
        same = Training(still, arguments.batch, lambda step: step == figures["steps"])
        figures["rows_that_differ"] = count_different(rows, same.run())
    for figure, value in figures.items():
        goal = f"  goal: {GOALS[figure]}" if figure in GOALS else ""
        print(f"{figure:36} {value:10.4g}{goal}")
    # The load is that of other programs: about 0 on an otherwise idle machine.
    setup = {**vars(arguments), "load_average_before": round(load, 2), "seed": 7}
    setup.update({**versions(), **native_programs.machine()})
    said = {"benchmark": "moving_updates", "figures": figures, "setup": setup}
    print(json.dumps(said))
    sys.exit(int(any(figures[f"{what}_that_differ"] for what in ("rows", "sums"))))


if __name__ == "__main__":
    main()
