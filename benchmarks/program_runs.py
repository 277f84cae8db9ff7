"""Runs programs whose last line is a result, as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import processes


@dataclass(frozen=True)
class Ended:
    """How a program has ended.

    Attributes:
        reason: Why it has failed; empty if it has not.
        status: Its exit status; None if it took too long.
        result: What its last line says; empty if that is no result. A program that has
            failed may have a result all the same.
    """

    reason: str
    status: int | None
    result: dict[str, Any] = field(default_factory=dict)


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    most_seconds: float | None = None,
) -> Ended:
    """Runs a program, and then ends what it has left running.

    Its errors are shown as they come.

    Args:
        command: The program and its arguments.
        env: Its environment. Defaults to None: ours.
        cwd: Its working directory. Defaults to None: ours.
        most_seconds: After this time, it is killed. Defaults to None: never.
    """
    # A session of its own, so that its processes can be ended together.
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    with ThreadPoolExecutor(2) as readers:
        output = readers.submit(process.stdout.read)
        last_error = readers.submit(_show, process.stderr)
        try:
            process.wait(most_seconds)
            is_late = False
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            _end(process)
    if is_late:
        return Ended(f"it did not end in {most_seconds:.0f} s", None)
    return _ended(process.returncode, output.result(), last_error.result())


def _show(errors: Iterable[str]) -> str:
    """Shows lines as they come; returns the last one that is not empty."""
    last = ""
    for line in errors:
        print(line, end="", file=sys.stderr, flush=True)
        last = line.strip() or last
    return last


def _end(process: subprocess.Popen[str]) -> None:
    # Programs that it runs by this function have sessions of their own.
    others = processes.descendants(process.pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in others:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _ended(status: int, output: str, last_error: str) -> Ended:
    reason = ""
    if status:
        last = last_error or "it printed nothing"
        reason = f"it ended with status {status}: {last}"
    lines = output.splitlines() or [""]
    try:
        result = json.loads(lines[-1])
    except ValueError:
        result = None
    if not isinstance(result, dict):
        return Ended(reason or f"its last line is not a result: {lines[-1]}", status)
    return Ended(reason, status, result)
