"""The README's smallest program runs as it stands: in one process, without set-up.

The original PERSIA needs five processes, three configuration files and a message broker
before its first step.
"""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
PROJECT = README.with_name("pyproject.toml")

COUNT_PROCESSES = """
import pathlib
children = [
    path.read_text().split()
    for path in pathlib.Path("/proc/self/task").glob("*/children")
]
print("children:", sum(map(len, children)))
print("rows:", ptf.Cluster().stats()[0].tables[0].rows)
print("loss:", model.evaluate(users, clicks, verbose=0))
"""


def smallest_program():
    [program] = [
        block
        for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
        if "model.fit" in block
    ]
    return program


def test_smallest_program_trains_in_one_process(run_python, tmp_path, monkeypatch):
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    output = run_python(smallest_program() + COUNT_PROCESSES)
    assert "children: 0" in output
    assert "rows: 10000" in output
    assert float(output.rpartition("loss: ")[2]) < 0.02
    assert list(tmp_path.iterdir()) == []


def test_what_no_deps_leaves_out_is_listed():
    """For environments with a package of TensorFlow that pip knows by another name."""
    [declared] = re.findall(
        r"^dependencies = \[(.*?)^\]", PROJECT.read_text(), re.DOTALL | re.MULTILINE
    )
    needed = set(re.findall(r'"(.*?)"', declared)) - {"tensorflow>=2.16"}
    _, _, after = README.read_text().partition("pip install --no-deps .\npip install ")
    assert set(re.findall("'(.*?)'", after.partition("\n")[0])) == needed
