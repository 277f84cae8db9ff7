"""Runs parameter server shards for a benchmark, optionally behind delaying proxies."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import native_programs

_START_SECONDS = 60
_PERSIA = (sys.executable, "-m", "persia_tf.commands.main")
_SHARD = (*_PERSIA, "ps", "--log-level", "warning")
_WORKER = (*_PERSIA, "worker", "--log-level", "warning")


class ShardProcess(NamedTuple):
    """A running `persia ps`, or an embedding worker or a proxy in front of it.

    Attributes:
        pid: Its process id.
        address: The "host:port" of its data port.
        metrics_port: The port of its metrics, if it has the option `--metrics-port`.
    """

    pid: int
    address: str
    metrics_port: int | None = None


@contextlib.contextmanager
def running_shards(
    count: int, options: Sequence[str] = (), checkout: Path | None = None
) -> Iterator[list[ShardProcess]]:
    """Runs shards on free ports of loopback until the block ends.

    Args:
        count: The number of shards.
        options: Further command line options of each.
        checkout: Whose shards run; None for those of this environment.
    """
    command = [*_SHARD, *options]
    if checkout is not None:
        command = ["env", "-C", str(checkout), f"PYTHONPATH={checkout}", *command]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield [
            stack.enter_context(_listening(command, folder / str(index)))
            for index in range(count)
        ]


@contextlib.contextmanager
def running_proxies(
    shards: Sequence[ShardProcess], delay_ms: float | None
) -> Iterator[list[str]]:
    """Runs a delaying proxy in front of each shard; yields the proxies' addresses.

    Args:
        shards: The shards.
        delay_ms: The delay of each direction. If None, there are no proxies.
    """
    if delay_ms is None:
        yield [shard.address for shard in shards]
        return
    with running_proxy_processes(shards, delay_ms) as proxies:
        yield [proxy.address for proxy in proxies]


@contextlib.contextmanager
def running_proxy_processes(
    shards: Sequence[ShardProcess], delay_ms: float
) -> Iterator[list[ShardProcess]]:
    """Runs a delaying proxy in front of each shard; yields the proxies.

    Args:
        shards: The shards.
        delay_ms: The delay of each direction.
    """
    program = str(native_programs.build("delay_proxy"))
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        proxies = []
        for index, shard in enumerate(shards):
            command = [program, "--to", shard.address, "--delay-ms", str(delay_ms)]
            running = _listening(command, folder / str(index))
            proxies.append(stack.enter_context(running))
        yield proxies


@contextlib.contextmanager
def running_worker(shards: Sequence[ShardProcess]) -> Iterator[ShardProcess]:
    """Runs an embedding worker in front of shards until the block ends.

    Args:
        shards: The shards.
    """
    addresses = ",".join(shard.address for shard in shards)
    with tempfile.TemporaryDirectory() as folder:
        command = [*_WORKER, "--ps", addresses]
        with _listening(command, Path(folder) / "worker") as worker:
            yield worker


@contextlib.contextmanager
def _listening(command: Sequence[str], port_file: Path) -> Iterator[ShardProcess]:
    """Runs a program that writes its port to a file, until the block ends."""
    # The output is not needed: the port is read from the file.
    process = subprocess.Popen(
        [*command, "--port", "0", "--port-file", str(port_file)],
        stdout=subprocess.DEVNULL,
    )
    try:
        give_up = time.monotonic() + _START_SECONDS
        while not port_file.exists():
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"{command} did not start: see its log above")
            time.sleep(0.01)
        port, *others = port_file.read_text().split()
        metrics_port = int(others[1]) if len(others) > 1 else None
        yield ShardProcess(process.pid, f"127.0.0.1:{port}", metrics_port)
    finally:
        process.terminate()
        process.wait()
