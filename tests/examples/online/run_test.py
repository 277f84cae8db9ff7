"""The whole example: a click changes a served prediction, and all processes end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka")

from online import run  # noqa: E402


def processes_with(text):
    """The command lines of this machine's processes that have a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_text().replace("\0", " ")
        except OSError:
            continue  # It has ended.
        if text in command:
            found.append(command)
    return found


@pytest.mark.slow
def test_a_click_changes_a_prediction(tmp_path):
    result = subprocess.run(
        [sys.executable, run.__file__, "--quick"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TMPDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert list(figures) == ["p50_ms", "p99_ms", "events_per_second", "probes"]
    assert 0 < figures["p50_ms"] <= figures["p99_ms"]
    assert figures["events_per_second"] > 0 and figures["probes"] == 20
    assert not [each for each in tmp_path.iterdir() if each.is_dir()]
    assert processes_with(str(tmp_path)) == []
