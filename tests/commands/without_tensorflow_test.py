"""Servers, and the commands for them, run where neither TensorFlow nor NumPy is.

The container image of servers has neither: deploy/docker/requirements-server.txt lists
what it has.
"""

from __future__ import annotations

import json
import os
import sys

import pytest

ABSENT = ("keras", "numpy", "tensorflow", "tf_keras")

# Modules whose import fails, as that of a package that is not installed.
HIDE = f"""
import sys
for name in {ABSENT}:
    sys.modules[name] = None
"""


@pytest.fixture
def light(tmp_path_factory):
    """The environment of a process that finds none of `ABSENT`."""
    folder = tmp_path_factory.mktemp("light")
    (folder / "sitecustomize.py").write_text(HIDE)
    return {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}


def test_they_run(persia, light, tmp_path):
    listening = r"listening on (\S+); health checks"

    def start(*arguments):
        command = persia(*arguments, "--port=0", "--metrics-port=0", env=light)
        return command.wait_for(listening)[0][1]

    def run(*arguments):
        command = persia(*arguments, env=light)
        assert command.wait() == 0, command.stderr
        return command.stdout

    recovery = f"--recovery-folder={tmp_path}/recovery"
    shard = start("ps", f"--checkpoint-root={tmp_path}/root", recovery)
    worker = start("worker", f"--ps={shard}")
    processes = json.loads(run("status", "--json", worker))["processes"]
    assert [each["address"] for each in processes] == [worker, shard]
    assert run("table", "ls", shard) == "No tables.\n"
    promoted = persia("promote", shard, env=light)
    assert promoted.wait() == 1
    assert "no standby" in promoted.stderr
    page = run("top", "--once", "--interval=0.1", worker)
    assert page.startswith("2 of 2 servers up, 0 tables")
    for action in ("save", "restore"):
        run("checkpoint", action, "run", f"--ps={shard}")
    for action in ("ls", "verify"):
        assert "0 rows" in run("checkpoint", action, f"{tmp_path}/root/run")
