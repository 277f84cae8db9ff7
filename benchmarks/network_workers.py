"""Runs workers, each pinned to a core and on a machine of its own.

The machines are those of limited_network.py, which needs root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limited_network import Machine, limited_network
from tf_config import environment_of_worker

_HERE = Path(__file__).absolute().parent
_PORT = 7000
_RUN_SECONDS = 600


def run_workers(
    name: str, options: Sequence[str], count: int, mbit: int
) -> list[dict[str, Any]]:
    """Runs a program as each of some workers.

    Args:
        name: The name of its file in this folder.
        options: Its command line, the same for all workers.
        count: How many workers.
        mbit: The megabits per second that each machine sends.

    Returns:
        What the last line of each worker says.

    Raises:
        SystemExit: if a worker fails, with what it printed.
    """
    command = [sys.executable, str(_HERE / name), *options]
    with limited_network(count, mbit * 10**6) as machines:
        workers = [_start(command, index, machines) for index in range(count)]
        try:
            outputs = [worker.communicate(timeout=_RUN_SECONDS) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    for worker, (_, errors) in zip(workers, outputs):
        if worker.returncode:
            raise SystemExit(f"a worker ended with {worker.returncode}: {errors}")
    return [json.loads(output.splitlines()[-1]) for output, _ in outputs]


def _start(
    command: Sequence[str], index: int, machines: Sequence[Machine]
) -> subprocess.Popen[str]:
    addresses = [f"{machine.address}:{_PORT}" for machine in machines]
    core = index % (os.cpu_count() or 1)
    return subprocess.Popen(
        machines[index].command("taskset", "-c", str(core), *command),
        env=environment_of_worker(index, {"worker": addresses}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
