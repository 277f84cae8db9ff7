"""Runs `persia serve` as a process."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_SECONDS = 300  # The time-out of the start.


class Server(NamedTuple):
    """A running `persia serve`.

    Attributes:
        pid: Its process id.
        grpc: The address of its gRPC API, HOST:PORT.
        rest: The address of its REST API, HOST:PORT.
        log: The file that it logs to.
    """

    pid: int
    grpc: str
    rest: str
    log: pathlib.Path


@contextlib.contextmanager
def running_server(
    model: pathlib.Path, name: str, options: Sequence[str] = ()
) -> Iterator[Server]:
    """Runs a server on free ports until the block ends.

    Args:
        model: The model's folder.
        name: The model's name in requests.
        options: Further command line options.
    """
    with tempfile.TemporaryDirectory() as folder:
        ports, log = (pathlib.Path(folder) / file for file in ("ports", "log"))
        with log.open("wb") as written:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "persia_tf.commands.main", "serve"),
                    *("--model", model, "--name", name, "--grpc-port=0"),
                    *("--rest-port=0", "--port-file", ports, *options),
                ],
                stderr=written,
            )
        try:
            give_up = time.monotonic() + _SECONDS
            while not ports.exists():
                if process.poll() is not None or time.monotonic() > give_up:
                    raise RuntimeError(f"persia serve failed: {log.read_text()}")
                time.sleep(0.05)
            places = [f"127.0.0.1:{port}" for port in ports.read_text().split()]
            yield Server(process.pid, *places, log)
        finally:
            process.terminate()
            process.wait()
