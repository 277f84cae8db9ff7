"""Workers on this machine, and two shards."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from multi_worker import launch

SCRIPT = pathlib.Path(launch.__file__)
COMMAND = [
    *(sys.executable, "-m", "persia_tf.commands.main", "launch", "--ps", "2", "--"),
    *(sys.executable, str(SCRIPT)),
]


def run(*arguments):
    return subprocess.run(
        [*COMMAND, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_one_command_trains_two_workers_on_two_shards():
    result = run("--workers=2", "--generated", "--rows=12000", "--batch_size=128")
    assert result.returncode == 0, result.stderr
    # One worker alone tells what all do.
    [auc] = re.findall(r"^test AUC (0\.\d{4}) \(2 workers\)$", result.stdout, re.M)
    assert 0.6 < float(auc) < 1
    assert result.stdout.count("training rows") == 1


def test_a_worker_that_fails_ends_all():
    result = run("--workers=2", "--generated", "--epochs=0")
    assert result.returncode == 2
    assert "must be at least 1, not 0" in result.stderr


def test_no_workers_are_refused():
    with pytest.raises(SystemExit):
        launch.main(["--workers=0"])
