"""The shortest run of beside_base.py, beside this checkout itself."""

import json
import subprocess
import sys

import native_programs
import pytest


@pytest.mark.slow
@pytest.mark.skipif(
    not native_programs.can_build(), reason="native programs cannot be built here"
)
def test_a_checkout_beside_itself(tmp_path):
    root = native_programs.ROOT
    ended = subprocess.run(
        [sys.executable, root / "benchmarks/beside_base.py", "--quick", "--base", root],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    figures = json.loads(ended.stdout.splitlines()[-1])["figures"]
    assert set(figures) == {
        *("lookup", "lookup_with_dedupe", "lookup_one_at_a_time", "update")
    }
    assert all(ratio > 0 for ratio in figures.values())
