"""The code that runs the programs of several workers."""

import json

import pytest
import worker_processes

PROGRAM = """
import json, os, sys, time
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
print(json.dumps("done"), flush=True)
print(f"worker {index} says this", file=sys.stderr, flush=True)
if index in WAITING:
    time.sleep(600)
"""


def run(waiting, folder):
    program = PROGRAM.replace("WAITING", json.dumps(waiting))
    return worker_processes.run_cluster(program, 2, ["127.0.0.1:1"], folder)


def test_workers_that_end_give_what_they_wrote(tmp_path):
    for index, ended in enumerate(run([], tmp_path)):
        assert ended.result() == "done"
        assert ended.errors == f"worker {index} says this\n"


def test_a_worker_that_hangs_is_ended_and_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_processes, "_DEADLINE_SECONDS", 1)
    with pytest.raises(AssertionError, match="not all workers ended") as failure:
        run([1], tmp_path)
    assert "worker 0: status" in str(failure.value)
    assert "worker 1: status -9" in str(failure.value)


def test_the_failure_shows_what_all_wrote():
    ended = [
        worker_processes.Ended(-9, "printed", "warned"),
        worker_processes.Ended(0, "", "said"),
    ]
    told = worker_processes._told(ended)
    for written in ("status -9", "printed", "warned", "status 0", "said"):
        assert written in told
