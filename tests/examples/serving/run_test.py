"""The whole example, with two parameter servers."""

import os
import re
import subprocess
import sys

import pytest
from serving import run

COMMAND = [
    *(sys.executable, "-m", "persia_tf.commands.main", "launch"),
    *("--ps", "2", "--", sys.executable, run.__file__),
    *("--generated", "--rows=12000", "--batch_size=256"),
]


@pytest.mark.slow
def test_what_is_trained_is_served_and_what_is_trained_on_too(tmp_path):
    result = subprocess.run(
        COMMAND,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    for version in (1, 2):
        told = f"version {version}: 256 predictions by gRPC and REST are off by"
        assert told in result.stdout
    assert "version 1: has the current rows" in result.stdout
    last = result.stdout.rstrip().splitlines()[-1]
    count, change = re.match(
        r"(\d+) requests .*: none failed. Predictions changed by (0\.\d+) at most", last
    ).groups()
    assert int(count) > 0 and float(change) > 0.001
    assert list(tmp_path.iterdir()) == []
