"""The README's smallest program works as it stands: in one process, no set-up.

PERSIA needs five processes, three configuration files and a message broker before
its first step.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"

COUNT_PROCESSES = """
import pathlib
children = [
    path.read_text().split()
    for path in pathlib.Path("/proc/self/task").glob("*/children")
]
print("children:", sum(map(len, children)))
print("rows:", ptf.Cluster().stats()[0].tables[0].rows)
"""


def smallest_program():
    [program] = [
        block
        for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
        if "model.fit" in block
    ]
    return program


def test_smallest_program_trains_in_one_process(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(smallest_program() + COUNT_PROCESSES)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("TF_USE_LEGACY_KERAS", None)
    run = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert "children: 0" in run.stdout
    assert "rows: 10000" in run.stdout
    assert list(tmp_path.iterdir()) == [script]
