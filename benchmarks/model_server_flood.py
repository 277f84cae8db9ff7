"""Whether `persia serve` answers while it is attacked, and what memory it takes then.

    python benchmarks/model_server_flood.py --write

A small model is served with the default limits. Each attack comes from a process of its
own, over REST from 127.0.0.x. Meanwhile three clients send requests at a fixed rate:
`healthz` over REST on a new connection each time, as an orchestrator does; a prediction
of 32 rows over REST, also on a new connection; and one over gRPC. A latency counts from
when the request was scheduled to its answer; a missing or wrong answer is a failure.

If the server allows fewer connections than the attack has, the attack reopens the
connections that the server closed, 500 per second. Memory is the server's largest
resident size during the attack, sampled 20 times per second, minus the size before. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import http.client
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import grpc
import numpy as np
import tensorflow as tf
from processes import resident_mb
from results_file import write_section
from serve_process import Server, running_server
from steady_client import SteadyClient, Wrong
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
from w1_model import versions

NAME = "clicks"
SECONDS = 120  # The time-out of a start, and of a request.
ROWS = 32
_ATTACKS = pathlib.Path(__file__).with_name("model_server_attacks.py")

# The bounds that SECURITY.md states for the default limits, in MiB: the memory of
# bodies (the allocator may retain as much again), and the memory per connection.
BODY_MEMORY = 256
CONNECTION_MEMORY = 0.4

# The failures that a legitimate client may get.
FAILURES = (OSError, http.client.HTTPException, grpc.RpcError, Wrong)

_HEADING = """## The model server under attack

`benchmarks/model_server_flood.py --write`: the latency, in milliseconds, of the
requests of three legitimate clients of `persia serve`, while other clients attack it.
It is measured from the time at which a request was scheduled until its answer arrived.
`failed`: how many of these requests got a wrong answer or none. `memory`: the most by
which the server grew; in brackets, the bound that SECURITY.md states. All limits are
the defaults, except the limit on connections in the row "all held"."""


class Attack(NamedTuple):
    """An attack to measure.

    Attributes:
        said: The title of its row in the report.
        parts: The kinds of attacks that run together, and the connections of each.
        options: Command line options of the server.
        connections: The server's limit of REST connections.
    """

    said: str
    parts: Mapping[str, int]
    options: Sequence[str] = ()
    connections: int = 1024


def attacks(idle: int) -> list[Attack]:
    # A server needs a descriptor for each connection over gRPC and REST, and some more.
    _, descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = idle
    if descriptors != resource.RLIM_INFINITY:
        held = min(idle, (descriptors - 1000) // 2)
    most = held + 50
    options = [f"--max-connections={most}"]
    return [
        Attack("no attack", {}),
        Attack(f"{held:,} idle, all held", {"idle": held}, options, most),
        Attack(f"{idle:,} idle", {"idle": idle}),
        Attack("1,000 unfinished headers", {"half_headers": 1000}),
        Attack("100 slow uploads", {"slow_uploads": 100}),
        Attack("16 with compressed bodies", {"compressed": 16}),
        Attack("16 with nested or full bodies", {"nested": 16}),
        Attack("64 unread answers", {"unread": 64}),
        Attack(
            "all of these",
            {
                "idle": idle,
                "slow_uploads": 100,
                "compressed": 8,
                "nested": 8,
                "unread": 16,
            },
        ),
    ]


class Words(tf.Module):
    """Doubles numbers, and converts words to upper case."""

    @tf.function(input_signature=[tf.TensorSpec((None, 2), tf.float32, "x")])
    def double(self, x):
        return {"y": 2 * x}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "x")])
    def upper(self, x):
        return {"y": tf.strings.upper(x)}

    def save(self, path: pathlib.Path) -> None:
        signatures = {"serving_default": self.double, "words": self.upper}
        tf.saved_model.save(self, str(path), signatures)


@contextlib.contextmanager
def running_attacks(server: Server, attack: Attack) -> Iterator[dict[str, Any]]:
    """Attacks a server until the block ends; yields a dict for the attacks' counts."""
    counts: dict[str, Any] = {}
    processes = {
        name: subprocess.Popen(
            [sys.executable, _ATTACKS, name, server.rest, NAME, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, count in attack.parts.items()
    }
    try:
        for name, process in processes.items():
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"attack {name} ended: see above")
        yield counts
        for name, process in processes.items():
            said, _ = process.communicate(timeout=SECONDS)
            counts[name] = json.loads(said)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


class Memory:
    """Samples the largest resident size of a process, from its creation to `end`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.most = resident_mb(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> float:
        self._over.set()
        self._thread.join()
        return self.most

    def _run(self) -> None:
        while not self._over.wait(0.05):
            self.most = max(self.most, resident_mb(self._pid))


def _get(place: str, method: str, path: str, body: bytes | None = None) -> bytes:
    connection = http.client.HTTPConnection(place, timeout=SECONDS)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        text = response.read()
        if response.status != 200:
            raise Wrong(f"{response.status}: {text[:200]!r}")
        return text
    finally:
        connection.close()


def clients(server: Server) -> dict[str, tuple[Callable[[], None], float]]:
    """Returns each client's request function and its rate, in requests per second."""
    x = np.ones((ROWS, 2), np.float32)
    body = json.dumps({"inputs": x.tolist()}).encode()
    expected = {"outputs": (2 * x).tolist()}
    request = predict_pb2.PredictRequest()
    request.model_spec.name = NAME
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(x))
    service = prediction_service_pb2_grpc.PredictionServiceStub(
        grpc.insecure_channel(server.grpc)
    )

    def by_rest() -> None:
        text = _get(server.rest, "POST", f"/v1/models/{NAME}:predict", body)
        if json.loads(text) != expected:
            raise Wrong(repr(text[:200]))

    def by_grpc() -> None:
        answer = service.Predict(request, timeout=SECONDS, wait_for_ready=True)
        if not np.array_equal(tf.make_ndarray(answer.outputs["y"]), 2 * x):
            raise Wrong("wrong numbers")

    return {
        "healthz": (lambda: void(_get(server.rest, "GET", "/healthz")), 20.0),
        "rest": (by_rest, 10.0),
        "grpc": (by_grpc, 10.0),
    }


def void(_: Any) -> None:
    """Discards an answer."""


def warm_up(server: Server) -> None:
    """Sends requests until the server answers."""
    give_up = time.monotonic() + SECONDS
    for ask, _ in clients(server).values():
        for _ in range(20):
            while True:
                try:
                    ask()
                    break
                except FAILURES:
                    if time.monotonic() > give_up:
                        raise
                    time.sleep(0.1)


def measure(model: pathlib.Path, attack: Attack, seconds: float) -> dict[str, Any]:
    """Attacks a server for some seconds; returns the figures of its clients."""
    with running_server(model, NAME, attack.options) as server:
        warm_up(server)
        before = resident_mb(server.pid)
        memory = Memory(server.pid)
        with running_attacks(server, attack) as counts:
            asking = {
                name: SteadyClient(*how, FAILURES)
                for name, how in clients(server).items()
            }
            time.sleep(seconds)
            figures = {name: client.end() for name, client in asking.items()}
        grown = memory.end() - before
        bound = 2 * BODY_MEMORY + CONNECTION_MEMORY * attack.connections
        return {
            "attack": attack.said,
            "clients": figures,
            "counts": counts,
            "memory_mib": grown,
            "memory_bound_mib": bound,
            "log_bytes": server.log.stat().st_size,
        }


def markdown(results: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        "| attack | healthz p50 / p99 / most | REST p50 / p99 | gRPC p50 / p99 "
        "| failed | memory (may) | log |",
        "|---|---|---|---|---|---|---|",
    ]
    for said in results:
        health, rest, by_grpc = (
            said["clients"][name] for name in ("healthz", "rest", "grpc")
        )
        failed = sum(each["failed"] for each in said["clients"].values())
        asked = sum(each["asked"] for each in said["clients"].values())
        cells = [
            said["attack"],
            " / ".join(f"{health[of]:.1f}" for of in ("p50_ms", "p99_ms", "most_ms")),
            *(
                " / ".join(f"{each[of]:.1f}" for of in ("p50_ms", "p99_ms"))
                for each in (rest, by_grpc)
            ),
            f"{failed} of {asked}",
            f"{said['memory_mib']:.0f} MiB ({said['memory_bound_mib']:.0f})",
            f"{said['log_bytes'] / 1024:.1f} KiB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of each attack")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections")
    parser.add_argument("--only", default="", help="attacks with this in their title")
    parser.add_argument("--quick", action="store_true", help="only a smoke test")
    parser.add_argument("--write", action="store_true", help="write to RESULTS.md")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds, arguments.idle = 1.0, 200
    return arguments


def main() -> None:
    arguments = parse()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder)
        Words().save(model / "1")
        # Otherwise a garbage collection in this process, which takes a third of a
        # second with all of TensorFlow loaded, would count as latency.
        gc.collect()
        gc.freeze()
        results = []
        for attack in attacks(arguments.idle):
            if arguments.only in attack.said:
                results.append(measure(model, attack, arguments.seconds))
                print(json.dumps(results[-1]), file=sys.stderr)
    setup = {
        "cpus": os.cpu_count(),
        "load_before": round(load_before, 2),
        "seconds": arguments.seconds,
        "rows": ROWS,
        **versions(),
    }
    if arguments.write:
        note = (
            f"Set-up: {setup['cpus']} cores for the server, its clients and the "
            f"attacks; load {setup['load_before']} before; {setup['seconds']:g} s per "
            f"attack, by processes at nice 19; healthz is asked 20 times a "
            f"second, predictions of {ROWS} rows 10 times by each API; "
            f"tensorflow {setup['tensorflow']}, python "
            f"{setup['python']}."
        )
        write_section(
            "model_server_flood", "\n\n".join([_HEADING, markdown(results), note])
        )
    figures = {"benchmark": "model_server_flood", "figures": results, "setup": setup}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
