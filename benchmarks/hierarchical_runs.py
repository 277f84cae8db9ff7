"""Runs the workers of hierarchical_bench.py and cost_model_bench.py.

Each worker is pinned to a core, and is on a machine of its own: a network namespace
that sends at a limited rate (needs root).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limited_network import Machine, limited_network

_WORKER = Path(__file__).absolute().parent / "hierarchical_worker.py"
_PORT = 7000
_RUN_SECONDS = 600
_PASSED_ON = ("model", "width", "batch", "optimizer", "steps", "plans", "group_size")


def run(way: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Trains in one way; returns what the first worker measured.

    Args:
        way: One of `hierarchical_worker.WAYS`, or "many".
        arguments: `workers`, `mbit`, and the arguments of hierarchical_worker.py.

    Returns:
        For each plan, or for the only way without one: the `seconds` of each step, and
        what `hierarchical_worker.measured` adds for a plan.
    """
    with limited_network(arguments.workers, arguments.mbit * 10**6) as machines:
        workers = [
            _start(way, index, machines, arguments) for index in range(len(machines))
        ]
        try:
            outputs = [worker.communicate(timeout=_RUN_SECONDS) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    for worker, (_, errors) in zip(workers, outputs):
        if worker.returncode:
            raise SystemExit(f"a worker ended with {worker.returncode}: {errors}")
    return json.loads(outputs[0][0].splitlines()[-1])["runs"]


def _start(
    way: str, index: int, machines: Sequence[Machine], arguments: argparse.Namespace
) -> subprocess.Popen[str]:
    addresses = [f"{machine.address}:{_PORT}" for machine in machines]
    config = {
        "cluster": {"worker": addresses},
        "task": {"type": "worker", "index": index},
    }
    core = index % (os.cpu_count() or 1)
    command = ["taskset", "-c", str(core), sys.executable, str(_WORKER), "--way", way]
    for name in (
        "model",
        "width",
        "batch",
        "optimizer",
        "steps",
        "plans",
        "group_size",
    ):
        value = getattr(arguments, name, None)
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    return subprocess.Popen(
        machines[index].command(*command),
        env={**os.environ, "TF_CONFIG": json.dumps(config)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
