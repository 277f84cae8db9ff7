"""Programs under each strategy, in processes of their own."""

from __future__ import annotations

import json

import programs
import pytest


@pytest.fixture
def results_of(run_workers, run_python):
    """Runs a program under a strategy; gives the last report of each process."""

    def run(strategy: str, program: str) -> list:
        program = programs.preamble(strategy) + program
        if "workers" in strategy:
            ended = run_workers(program, programs.PROCESSES[strategy])
            return [each.result() for each in ended]
        return [json.loads(run_python(program).splitlines()[-1])]

    return run
