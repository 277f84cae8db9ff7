"""How long predictions of `persia serve` take, against TensorFlow in the program.

    python benchmarks/model_server_bench.py --write

A click model of 26 features, exported with its rows, gets requests over gRPC on several
connections at a fixed rate, independently of its answers (an open loop). A latency
counts from when the request was scheduled. `in_process` calls the same signature of the
same SavedModel in this program, on as many threads, at the same rate. Then each side
gets requests as fast as it answers, with 32 in flight. Sides run in turn,
A B C A B C ...; percentiles are over all turns, other figures are medians of turns, and
ratios compare sides of the same turn. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import Any, NamedTuple, Protocol

import grpc
import numpy as np
import tensorflow as tf
from processes import cpu_seconds
from results_file import write_section
from serve_process import Server, running_server
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
from w1_model import versions

import persia_tf as ptf
from persia_tf._keras import keras

FEATURES = 26
DIM = 16
VOCABULARY = 10_000  # Per feature.
BATCHES = 32
CONNECTIONS = 4
NAME = "clicks"
SECONDS = 120  # The time-out of a start, and of a request.
_HEADING = """## The model server

`benchmarks/model_server_bench.py --write`: the latency, in milliseconds, over all
turns, of requests at a fixed rate, to `persia serve` over gRPC and to TensorFlow in the
client's process. It is measured from the time at which a request was scheduled until
its answer arrived. `CPU`: the processor time per request, at that rate, of the process
that answers. `most`: the number of requests answered per second with 32 in flight. Both
are medians of turns. `over in-process`: the median of the turns' ratios (least to
greatest)."""


class Load(NamedTuple):
    """The load on a side.

    Attributes:
        batch: Examples per request.
        rate: Requests per second.
    """

    batch: int
    rate: float


LOADS = (Load(256, 20.0), Load(16, 50.0))

# Requests in flight when a side is asked as fast as it answers.
OUTSTANDING = 32


class Side(Protocol):
    """Answers requests.

    Attributes:
        pid: The process that answers.
    """

    pid: int

    def ask(self, index: int) -> Any:
        """Sends one of the requests; returns a future of its answer."""


class InProcess:
    """TensorFlow in this program."""

    def __init__(self, path: pathlib.Path, inputs: Sequence[Mapping[str, Any]]) -> None:
        self.pid = os.getpid()
        self._model = tf.saved_model.load(str(path))
        self._serve = self._model.signatures["serving_default"]
        self._inputs = inputs
        self._pool = futures.ThreadPoolExecutor(os.cpu_count())

    def ask(self, index: int) -> Any:
        return self._pool.submit(self._run, self._inputs[index % len(self._inputs)])

    def _run(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        tensors = {name: tf.constant(array) for name, array in inputs.items()}
        [output] = self._serve(**tensors).values()
        return output.numpy()


class Served:
    """A server, asked over several connections."""

    def __init__(self, server: Server, inputs: Sequence[Mapping[str, Any]]) -> None:
        self.pid = server.pid
        # Otherwise all channels would share one connection.
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._services = [
            prediction_service_pb2_grpc.PredictionServiceStub(
                grpc.insecure_channel(server.grpc, options)
            )
            for _ in range(CONNECTIONS)
        ]
        self._requests = [_request(arrays) for arrays in inputs]

    def ask(self, index: int) -> Any:
        service = self._services[index % CONNECTIONS]
        request = self._requests[index % len(self._requests)]
        return service.Predict.future(request, timeout=SECONDS, wait_for_ready=True)


def export(path: pathlib.Path) -> None:
    """Exports the model, with a row for each id."""
    inputs = {
        f"c{f}": keras.Input((), dtype="int64", name=f"c{f}") for f in range(FEATURES)
    }
    vectors = [
        ptf.layers.PersiaEmbedding(DIM, table=name, cluster=ptf.Cluster.embedded())(ids)
        for name, ids in inputs.items()
    ]
    x = keras.layers.Concatenate()(vectors)
    for units in (256, 128):
        x = keras.layers.Dense(units, activation="relu")(x)
    model = keras.Model(inputs, keras.layers.Dense(1, name="click")(x))
    ids = tf.range(VOCABULARY, dtype=tf.int64)
    model({name: ids for name in inputs}, training=True)
    ptf.serving.export(model, path)


def make_inputs(batch: int) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    shape = (BATCHES, FEATURES, batch)
    ids = np.minimum(random.zipf(1.2, shape), VOCABULARY).astype("int64") - 1
    return [{f"c{f}": ids[b, f] for f in range(FEATURES)} for b in range(BATCHES)]


def warm_up(side: Side) -> None:
    """Sends requests until the side answers at its full speed."""
    give_up = time.monotonic() + SECONDS
    answered = 0
    while answered < BATCHES:
        try:
            side.ask(answered).result()
            answered += 1
        except grpc.RpcError:  # The model is not served yet.
            if time.monotonic() > give_up:
                raise
            time.sleep(0.05)


def latencies(side: Side, rate: float, seconds: float) -> np.ndarray:
    """Sends requests at a rate; returns their latencies in milliseconds.

    A latency counts from when the request was scheduled.
    """
    count = round(rate * seconds)
    taken = np.zeros(count)
    left = threading.Semaphore(0)

    def note(index: int, due: float) -> Callable[[Any], None]:
        def answered(_: Any) -> None:
            taken[index] = time.monotonic() - due
            left.release()

        return answered

    begin, asked = time.monotonic(), []
    for index in range(count):
        due = begin + index / rate
        time.sleep(max(0.0, due - time.monotonic()))
        asked.append(side.ask(index))
        asked[-1].add_done_callback(note(index, due))
    for future in asked:
        future.result(SECONDS)  # Raises if the request failed.
        left.acquire()
    return taken * 1e3


def most_per_second(side: Side, seconds: float) -> float:
    """Sends requests as fast as they are answered; returns requests per second."""
    places = threading.Semaphore(OUTSTANDING)
    begin, asked = time.monotonic(), []
    while time.monotonic() - begin < seconds:
        places.acquire()
        asked.append(side.ask(len(asked)))
        asked[-1].add_done_callback(lambda _: places.release())
    for future in asked:
        future.result(SECONDS)
    return len(asked) / (time.monotonic() - begin)


class Turns:
    """Measures a side, turn by turn."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self.taken: list[np.ndarray] = []
        self.figures: dict[str, list[float]] = {
            "p50_ms": [],
            "cpu_ms": [],
            "most_per_second": [],
        }

    def run(self, load: Load, seconds: float) -> dict[str, float]:
        """Runs another turn; returns its figures."""
        begin = cpu_seconds(self._side.pid)
        taken = latencies(self._side, load.rate, seconds)
        cpu = cpu_seconds(self._side.pid) - begin
        self.taken.append(taken)
        turn = {
            "p50_ms": float(np.median(taken)),
            "cpu_ms": 1e3 * cpu / len(taken),
            "most_per_second": most_per_second(self._side, seconds / 2),
        }
        for figure, value in turn.items():
            self.figures[figure].append(value)
        return turn

    def summary(self, plain: Turns) -> dict[str, Any]:
        """Returns figures of all turns, and ratios to those of `plain`."""
        p50, p99 = np.percentile(np.concatenate(self.taken), [50, 99])
        said: dict[str, Any] = {}
        for figure, mine in self.figures.items():
            said[figure] = statistics.median(mine)
            ratios = [own / other for own, other in zip(mine, plain.figures[figure])]
            said[f"{figure}_over_in_process"] = statistics.median(ratios)
            said[f"{figure}_range"] = [min(ratios), max(ratios)]
        return {**said, "p50_ms": float(p50), "p99_ms": float(p99)}


def measure(
    sides: Mapping[str, Side], load: Load, turns: int, seconds: float
) -> list[dict[str, Any]]:
    """Runs the sides in turn; returns the summary of each."""
    did = {name: Turns(side) for name, side in sides.items()}
    for turn in range(turns):
        for name, own in did.items():
            figures = own.run(load, seconds)
            print(f"{load}, turn {turn + 1}: {name}: {figures}", file=sys.stderr)
    return [
        {"side": name, **load._asdict(), **own.summary(did["in_process"])}
        for name, own in did.items()
    ]


def _request(arrays: Mapping[str, np.ndarray]) -> Any:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = NAME
    for name, array in arrays.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
    return request


def markdown(results: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        "| batch | requests a second | side | p50 ms | p99 ms | CPU ms | most "
        "| p50 over in-process | CPU over in-process | most over in-process |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for said in results:
        cells = [f"{said['batch']}", f"{said['rate']:g}", f"`{said['side']}`"]
        for figure in ("p50_ms", "p99_ms", "cpu_ms", "most_per_second"):
            cells.append(f"{said[figure]:.1f}")
        for figure in ("p50_ms", "cpu_ms", "most_per_second"):
            least, greatest = said[f"{figure}_range"]
            ratio = said[f"{figure}_over_in_process"]
            cells.append(f"{ratio:.2f} ({least:.2f} to {greatest:.2f})")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=4.0, help="seconds per turn")
    parser.add_argument("--quick", action="store_true", help="only a smoke test")
    parser.add_argument("--write", action="store_true", help="write to RESULTS.md")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.turns, arguments.seconds = 1, 1.0
    return arguments


def main() -> None:
    arguments = parse()
    load_before = os.getloadavg()[0]
    results: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        export(folder / "1")
        alone, joined = (
            stack.enter_context(running_server(folder, NAME, options))
            for options in ([], ["--max-batch-size=1024"])
        )
        for load in LOADS:
            inputs = make_inputs(load.batch)
            sides = {
                "in_process": InProcess(folder / "1", inputs),
                "serve": Served(alone, inputs),
                "serve_batched": Served(joined, inputs),
            }
            for side in sides.values():
                warm_up(side)
            results += measure(sides, load, arguments.turns, arguments.seconds)
    setup = {
        "cpus": os.cpu_count(),
        "load_before": round(load_before, 2),
        "turns": arguments.turns,
        "seconds": arguments.seconds,
        "connections": CONNECTIONS,
        "features": FEATURES,
        "rows": FEATURES * VOCABULARY,
        **versions(),
    }
    if arguments.write:
        note = (
            f"Set-up: {setup['cpus']} cores, which the client shares with the "
            f"server, load {setup['load_before']} before; {setup['connections']} "
            f"connections; {setup['turns']} turns of {setup['seconds']:g} s; "
            f"{setup['features']} inputs, {setup['rows']:,} rows of {DIM}, Dense "
            f"256-128-1; `serve_batched` with --max-batch-size 1024; tensorflow "
            f"{setup['tensorflow']}, python {setup['python']}."
        )
        text = "\n\n".join([_HEADING, markdown(results), note])
        write_section("model_server", text)
    print(json.dumps({"benchmark": "model_server", "figures": results, "setup": setup}))


if __name__ == "__main__":
    main()
