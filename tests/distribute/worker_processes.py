"""Worker processes of one TensorFlow cluster, on this machine."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import same_path

from persia_tf.processes.free_ports import free_ports

# Long enough for a busy machine: the timeout of collectives ends a hang earlier.
_DEADLINE_SECONDS = 600
# How much of a worker's errors the failure message shows.
_SHOWN_CHARACTERS = 4000


@dataclass
class Ended:
    """A worker that has ended."""

    status: int
    output: str
    errors: str

    def result(self):
        """The JSON that it printed last."""
        assert self.status == 0, self.errors
        return json.loads(self.output.splitlines()[-1])


def run_cluster(
    program: str, count: int, shards: Sequence[str], folder: Path
) -> list[Ended]:
    """Runs a program on several workers, with TF_CONFIG naming all of them.

    Args:
        program: Python.
        count: The number of workers.
        shards: Their "host:port"s.
        folder: Where the program runs: an empty one, so that it imports the package
            that its test does.

    Raises:
        AssertionError: if they do not end in time, with what they wrote until then.
    """
    workers = [f"127.0.0.1:{port}" for port in free_ports(count)]
    started: list[_Worker] = []
    deadline = time.monotonic() + _DEADLINE_SECONDS
    try:
        for index in range(count):
            started.append(_Worker(folder, program, workers, index, shards))
        in_time = all([worker.ends_before(deadline) for worker in started])
    finally:
        for worker in started:
            worker.kill()
    ended = [worker.ended() for worker in started]
    assert in_time, _told(ended)
    return ended


def _told(workers: list[Ended]) -> str:
    """The status and output of all workers, for an error message."""
    lines = [f"not all workers ended within {_DEADLINE_SECONDS} s"]
    for index, worker in enumerate(workers):
        lines.append(f"---- worker {index}: status {worker.status}")
        lines.append(worker.output[-_SHOWN_CHARACTERS:])
        lines.append(worker.errors[-_SHOWN_CHARACTERS:])
    return "\n".join(lines)


class _Worker:
    """A process whose output goes to files, because a full pipe would block it."""

    def __init__(
        self,
        folder: Path,
        program: str,
        workers: list[str],
        index: int,
        shards: Sequence[str],
    ) -> None:
        cluster = {"worker": workers, "ps": list(shards)}
        config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        self._output = folder / f"worker{index}.output"
        self._errors = folder / f"worker{index}.errors"
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                cwd=folder,
                env={**same_path(), "TF_CONFIG": json.dumps(config)},
                stdout=output,
                stderr=errors,
            )

    def ends_before(self, deadline: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(deadline - time.monotonic(), 0))
        return self._process.returncode is not None

    def ended(self) -> Ended:
        status = self._process.returncode
        return Ended(status, self._output.read_text(), self._errors.read_text())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
