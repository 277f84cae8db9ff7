"""Looks rows up and updates them, at a steady rate; reshard_bench.py starts it.

    python benchmarks/reshard_probe.py SHARDS DIM IDS_FILE BATCH RATE SECONDS_FILE

Prints a line once it is warm. At the end of its standard input, it writes SECONDS_FILE:
float64 `(requests, 3)`, of each pair of a training lookup and an update when it began,
by `time.monotonic()`, and how long the lookup and the update took.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from reshard_cluster import embedding

import persia_tf as ptf
from persia_tf._keras import keras

_WARM_UP_REQUESTS = 20


class Probe:
    """A process that asks for rows, within a `with` block.

    Args:
        shards: "host:port" of the cluster's shards.
        dim: The weights of a row.
        ids: The ids to draw from.
        batch: The ids of each request.
        rate: Requests per second.
        folder: A folder for files of this probe alone.
    """

    def __init__(
        self,
        shards: list[str],
        dim: int,
        ids: np.ndarray,
        batch: int,
        rate: float,
        folder: Path,
    ) -> None:
        ids_file = folder / "ids.npy"
        np.save(ids_file, ids)
        self._seconds_file = folder / "seconds.npy"
        settings = (",".join(shards), dim, ids_file, batch, rate, self._seconds_file)
        self._process = subprocess.Popen(
            [sys.executable, __file__, *map(str, settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.kill()
        self._process.wait()

    def wait_until_warm(self) -> None:
        if not self._process.stdout.readline():
            raise SystemExit("a probe ended: see above")

    def end(self) -> np.ndarray:
        """Ends the requests, and returns what the probe has written."""
        self._process.stdin.close()
        if self._process.wait():
            raise SystemExit("a probe failed: see above")
        return np.load(self._seconds_file)


class Requests:
    """Sends pairs of a training lookup and an update.

    Args:
        shards: "host:port" of the cluster's shards.
        dim: The weights of a row.
        ids: The ids to draw from.
        batch: The ids of each request.
    """

    def __init__(
        self, shards: list[str], dim: int, ids: np.ndarray, batch: int
    ) -> None:
        # With staleness 0, a step would return only once its update is applied.
        self._cluster = ptf.Cluster(shards, staleness=1)
        self._layer = embedding(dim, self._cluster)
        self._layer.build((None,))
        self._optimizer = keras.optimizers.SGD(0.0)
        self._optimizer.build(self._layer.trainable_variables)
        self._step = tf.function(self._train)
        self._ids = ids
        self._batch = batch
        self._random = np.random.default_rng(0)

    def send(self) -> tuple[float, float, float]:
        """Returns when the pair began, and the seconds of its lookup and update."""
        ids = tf.constant(self._random.choice(self._ids, self._batch))
        begin = time.monotonic()
        self._step(ids)
        looked_up = time.monotonic()
        self._cluster.flush()
        return begin, looked_up - begin, time.monotonic() - looked_up

    def _train(self, ids: tf.Tensor) -> None:
        variables = self._layer.trainable_variables
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self._layer(ids, training=True))
        gradients = tape.gradient(loss, variables)
        self._optimizer.apply_gradients(zip(gradients, variables))


def _ended_input() -> threading.Event:
    """Returns an event that is set when the standard input ends."""
    ended = threading.Event()

    def read() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    return ended


def main() -> None:
    shards, dim, ids_file, batch, rate, seconds_file = sys.argv[1:]
    requests = Requests(shards.split(","), int(dim), np.load(ids_file), int(batch))
    ended = _ended_input()
    for _ in range(_WARM_UP_REQUESTS):
        requests.send()
    print(json.dumps("warm"), flush=True)
    sent: list[tuple[Any, ...]] = []
    due = time.monotonic()
    while not ended.wait(max(0.0, due - time.monotonic())):
        sent.append(requests.send())
        # Requests that could not be sent in time are left out.
        due = max(due + 1 / float(rate), sent[-1][0])
    np.save(seconds_file, np.array(sent))


if __name__ == "__main__":
    main()
