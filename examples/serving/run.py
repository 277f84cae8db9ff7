"""Trains and serves a model, trains it further, and serves the new version.

persia launch --ps 2 -- python examples/serving/run.py
"""

import argparse
import pathlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import numpy as np
import tensorflow as tf
from common import training
from common.embeddings import PersiaRows
from common.table import Table
from movielens import model as deepfm
from movielens import train as movielens

import persia_tf as ptf
from serving import clients, server

keras = tf.keras

_NAME = "deepfm"
_ASKED_ROWS = 256
_LIVE_SECONDS = 60


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the example.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = training.training_parser(__doc__, epochs=1, batch_size=2048)
    options = parser.parse_args(argv)
    train, test = movielens.load(options)
    asked = test.take(slice(_ASKED_ROWS)).features
    model = build(options.seed)
    fit(model, train.take(slice(len(train) // 2)), options)
    with tempfile.TemporaryDirectory() as folder:
        versions = pathlib.Path(folder) / _NAME
        export(model, versions, 1)
        exported = dense_weights(model)
        with server.running(versions, following()) as running:
            clients.wait_until_serving(running.rest)
            with closing(clients.GrpcClient(running.grpc, _NAME)) as client:
                before = compare(model, client, running, asked, version=1)
                with asking(client, asked) as answers:
                    fit(model, train.take(slice(len(train) // 2, None)), options)
                    if following():
                        wait_until_live(model, exported, client, asked)
                    export(model, versions, 2)
                    answers.wait_for_version(2)
                after = compare(model, client, running, asked, version=2)
    print(
        f"{answers.count} requests during training, export and loading: none failed. "
        f"Predictions changed by {np.abs(after - before).max():.3f} at most."
    )


def following() -> list[str]:
    """Returns options that make a server follow the shards; [] without shards."""
    shards = ptf.Cluster().shards
    return ["--follow", ",".join(shards)] if shards else []


def build(seed: int) -> Any:
    """Returns the model, compiled."""
    keras.utils.set_random_seed(seed)
    model = deepfm.build(PersiaRows(movielens.settings(seed)))
    model.compile(keras.optimizers.Adagrad(**movielens.ADAGRAD), "binary_crossentropy")
    return model


def fit(model: Any, table: Table, options: argparse.Namespace) -> None:
    """Trains the model on a table."""
    batches = table.batches(options.batch_size, shuffle_seed=options.seed)
    model.fit(batches, epochs=options.epochs, shuffle=False)


def export(model: Any, versions: pathlib.Path, version: int) -> None:
    """Exports a version beside the others; a server sees it only once complete."""
    exported = ptf.serving.export(model, versions / str(version))
    rows = sum(table.rows for table in exported.tables)
    print(f"version {version}: {rows:,} rows exported")


def compare(
    model: Any,
    client: clients.GrpcClient,
    running: server.Server,
    asked: dict[str, np.ndarray],
    version: int,
) -> np.ndarray:
    """Returns the server's predictions, and prints how far they are from the model's.

    Raises:
        AssertionError: if a version other than `version` answers, or a prediction is
            off by more than 1e-6.
    """
    expected = np.asarray(model(tf.nest.map_structure(tf.constant, asked)))
    found, by_grpc = client.predict(asked)
    by_rest = clients.rest_predict(running.rest, _NAME, asked)
    off = max(np.abs(each - expected).max() for each in (by_grpc, by_rest))
    assert found == version, f"version {found} answers, not {version}"
    assert off <= 1e-6, f"served predictions are off by {off}"
    print(
        f"version {found}: {len(expected)} predictions by gRPC and REST are off by "
        f"{off:.0e} at most"
    )
    return by_grpc


def wait_until_live(
    model: Any,
    exported: dict[str, list[np.ndarray]],
    client: clients.GrpcClient,
    asked: dict[str, np.ndarray],
) -> None:
    """Waits until version 1 combines its own dense part with the model's current rows.

    Raises:
        AssertionError: if that takes more than a minute, or another version answers.
    """
    ptf.flush()
    begin = time.monotonic()
    now = dense_weights(model)
    set_dense_weights(model, exported)
    expected = np.asarray(model(tf.nest.map_structure(tf.constant, asked)))
    set_dense_weights(model, now)
    while True:
        version, found = client.predict(asked)
        off = np.abs(found - expected).max()
        seconds = time.monotonic() - begin
        assert version == 1, f"version {version} answers, not 1"
        if off <= 1e-6:
            break
        assert seconds < _LIVE_SECONDS, f"predictions are still off by {off}"
        time.sleep(0.01)
    print(f"version 1: has the current rows {seconds:.2f} s after they were trained")


def dense_weights(model: Any) -> dict[str, list[np.ndarray]]:
    """Returns the weights of all layers except embedding layers, by layer."""
    return {layer.name: layer.get_weights() for layer in dense_layers(model)}


def set_dense_weights(model: Any, weights: dict[str, list[np.ndarray]]) -> None:
    """Sets weights that `dense_weights` returned."""
    for layer in dense_layers(model):
        layer.set_weights(weights[layer.name])


def dense_layers(model: Any) -> list[Any]:
    """Returns all layers except embedding layers, whose rows are on shards."""
    embedding = ptf.layers.PersiaEmbedding
    return [layer for layer in model.layers if not isinstance(layer, embedding)]


class Answers:
    """The answers to a client that sends requests continuously.

    Attributes:
        count: the number of answers.
    """

    def __init__(self) -> None:
        self.count = 0
        self._newest = 0
        self._failure: Optional[Exception] = None
        self._changed = threading.Condition()

    def add(self, version: int) -> None:
        """Records an answer."""
        with self._changed:
            self.count += 1
            self._newest = max(self._newest, version)
            self._changed.notify_all()

    def fail(self, failure: Exception) -> None:
        """Records the failure of a request."""
        with self._changed:
            self._failure = failure
            self._changed.notify_all()

    def wait_for_version(self, version: int, seconds: float = 120) -> None:
        """Waits until a version answers, or a request fails."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._newest >= version or self._failure, seconds
            )
            assert self._newest >= version, f"version {version} does not answer"

    def check(self) -> None:
        """Raises the exception of a failed request, if any."""
        if self._failure:
            raise self._failure


@contextmanager
def asking(
    client: clients.GrpcClient, asked: dict[str, np.ndarray]
) -> Iterator[Answers]:
    """Sends requests continuously, in parallel with the block."""
    answers, enough = Answers(), threading.Event()

    def ask() -> None:
        try:
            while not enough.wait(0.01):
                answers.add(client.predict(asked)[0])
        except Exception as failure:
            answers.fail(failure)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        enough.set()
        thread.join()
        answers.check()


if __name__ == "__main__":
    main()
