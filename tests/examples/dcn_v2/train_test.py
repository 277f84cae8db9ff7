"""Two workers that divide the large layers of a model, and two shards."""

import os
import re
import subprocess
import sys

import pytest
from dcn_v2 import train

COMMAND = [
    *(sys.executable, "-m", "persia_tf.commands.main", "launch"),
    *("--ps", "2", "--workers", "2", "--"),
    *(sys.executable, train.__file__),
    *("--generated", "--rows=12000", "--batch_size=64", "--width=256"),
]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--whole"]])
def test_one_command_trains_two_workers_that_form_a_group(options, tmp_path):
    result = subprocess.run(
        [*COMMAND, *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert result.returncode == 0, result.stderr
    [auc] = re.findall(r"^test AUC (0\.\d{4}) \(2 workers\)$", result.stdout, re.M)
    assert 0.6 < float(auc) < 1
    assert "Plan for 2 workers in groups of 2, global batches of 128" in result.stdout
    assert re.search(r"^cross_0 +Dense +(data|model, \w+) ", result.stdout, re.M)
