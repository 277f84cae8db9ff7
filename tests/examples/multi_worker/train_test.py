"""Workers on this machine, and two shards."""

import os
import re
import subprocess
import sys

from multi_worker import train

COMMAND = [
    *(sys.executable, "-m", "persia_tf.commands.main", "launch"),
    *("--ps", "2", "--workers", "2", "--"),
    *(sys.executable, train.__file__),
]


def run(*arguments, cwd):
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_one_command_trains_two_workers_on_two_shards(tmp_path):
    result = run("--generated", "--rows=12000", "--batch_size=128", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    # Only one worker prints the result of all.
    [auc] = re.findall(r"^test AUC (0\.\d{4}) \(2 workers\)$", result.stdout, re.M)
    assert 0.6 < float(auc) < 1
    assert result.stdout.count("training rows") == 1
