"""Parameter server shards as processes of a benchmark."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_START_SECONDS = 60


class ShardProcess(NamedTuple):
    """A running `persia ps`."""

    pid: int
    address: str


@contextlib.contextmanager
def running_shards(count: int) -> Iterator[list[ShardProcess]]:
    """Starts `count` shards on free ports of loopback; ends them on leaving."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield [
            stack.enter_context(_running_shard(folder / str(index)))
            for index in range(count)
        ]


@contextlib.contextmanager
def _running_shard(port_file: Path) -> Iterator[ShardProcess]:
    command = [sys.executable, "-m", "persia_tf.commands.main", "ps"]
    process = subprocess.Popen([*command, "--port", "0", "--port-file", port_file])
    try:
        give_up = time.monotonic() + _START_SECONDS
        while not port_file.exists():
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError("a shard did not start: see its log above")
            time.sleep(0.01)
        port = port_file.read_text().split()[0]
        yield ShardProcess(process.pid, f"127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()
