"""Runs `persia serve` as a child process."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_SERVE = (sys.executable, "-m", "persia_tf.commands.main", "serve")
_START_SECONDS = 120


class Server(NamedTuple):
    """A running server.

    Attributes:
        grpc: its address for gRPC.
        rest: its address for REST.
    """

    grpc: str
    rest: str


@contextlib.contextmanager
def running(model: pathlib.Path, options: Sequence[str] = ()) -> Iterator[Server]:
    """Serves a model on free ports of this machine until the block ends.

    Args:
        model: the folder that holds the versions.
        options: further command line options.
    """
    with tempfile.TemporaryDirectory() as folder:
        ports = pathlib.Path(folder) / "ports"
        process = subprocess.Popen(
            [
                *(*_SERVE, "--model", model, "--poll-seconds=0.2", *options),
                *("--grpc-port=0", "--rest-port=0", "--port-file", ports),
                # The server exits when this program ends, even if it crashes.
                *("--parent", str(os.getpid()), "--log-level=warning"),
            ]
        )
        try:
            _wait_for(ports, process)
            grpc, rest = ports.read_text().split()
            yield Server(f"127.0.0.1:{grpc}", f"127.0.0.1:{rest}")
        finally:
            process.terminate()
            process.wait()


def _wait_for(ports: pathlib.Path, process: subprocess.Popen) -> None:
    give_up = time.monotonic() + _START_SECONDS
    while not ports.exists():
        if process.poll() is not None or time.monotonic() > give_up:
            raise RuntimeError("persia serve did not start: see its log above")
        time.sleep(0.05)
