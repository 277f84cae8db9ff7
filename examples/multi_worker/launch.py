"""Starts workers on this machine, each of which runs train.py; waits for them.

    persia launch --ps 2 -- python examples/multi_worker/launch.py --workers 2

Arguments that it does not know are those of train.py.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Optional

_TRAIN = pathlib.Path(__file__).absolute().with_name("train.py")
_POLL_SECONDS = 0.2
_END_SECONDS = 10


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Starts the workers, and returns the exit code of the first that failed, or 0.

    Args:
        argv: the arguments, or None for the process's own.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2, help="how many (2)")
    options, arguments = parser.parse_known_args(argv)
    if options.workers < 1:
        parser.error(f"--workers must be at least 1, not {options.workers}")
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(options.workers)]
    workers = []
    try:
        for index in range(options.workers):
            workers.append(_start(addresses, index, arguments))
        return _wait(workers)
    finally:
        _end(workers)


def _start(
    addresses: list[str], index: int, arguments: Sequence[str]
) -> subprocess.Popen:
    # The shards are in $PERSIA_PS, which `persia launch` has set.
    config = {
        "cluster": {"worker": addresses},
        "task": {"type": "worker", "index": index},
    }
    return subprocess.Popen(
        [sys.executable, str(_TRAIN), *arguments],
        env={**os.environ, "TF_CONFIG": json.dumps(config)},
        # One of them tells what all do; what goes wrong, each tells itself.
        stdout=None if index == 0 else subprocess.DEVNULL,
    )


def _wait(workers: Sequence[subprocess.Popen]) -> int:
    """Waits until all have ended, or one has failed: the others would wait for it."""
    while True:
        codes = [worker.poll() for worker in workers]
        failed = next((code for code in codes if code), 0)
        if failed or None not in codes:
            return failed
        time.sleep(_POLL_SECONDS)


def _end(workers: Sequence[subprocess.Popen]) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    for worker in workers:
        try:
            worker.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


if __name__ == "__main__":
    sys.exit(main())
