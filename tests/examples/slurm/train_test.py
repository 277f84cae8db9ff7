"""Jobs of Slurm's own daemons on this machine, with two nodes and two shards."""

import os
import re
import signal
import subprocess

import pytest
from movielens import train as movielens
from multi_worker import train as multi_worker

from persia_tf.processes.free_ports import free_ports

MOVIELENS = (
    *("python", movielens.__file__, "--generated"),
    *("--rows=12000", "--epochs=1", "--batch_size=256"),
)
ENDLESS = ("bash", "-c", "echo trains; sleep 600")


def auc_of(job):
    [auc] = re.findall(r"^0: test AUC (0\.\d{4}) ", job.output, re.M)
    return float(auc)


def rows_of(table, output):
    """The rows of a table, by the host of their shard, as `persia status` shows."""
    rows = re.findall(rf"^{table} +([\d.]+):\d+ +\d+ +(\d+) ", output, re.M)
    return {host: int(count) for host, count in rows}


def test_a_job_trains_on_a_shard_of_each_node(slurm, tmp_path):
    job = slurm.submit(tmp_path, *MOVIELENS)
    assert job.wait() == "COMPLETED", job.output
    assert 0.6 < auc_of(job) < 1
    rows = rows_of("movielens/user", job.output)
    assert sorted(rows) == slurm.nodes
    assert min(rows.values()) > 100
    assert job.processes() == {}
    assert (tmp_path / "job" / "token").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_job_trains_with_two_trainers_behind_embedding_workers(slurm, tmp_path):
    [port] = free_ports(1)  # TensorFlow's servers listen on all addresses.
    job = slurm.submit(
        tmp_path,
        *("python", multi_worker.__file__, "--generated"),
        *("--rows=12000", "--batch_size=128"),
        TRAINERS=2,
        EMBEDDING_WORKERS="yes",
        FIRST_PORT=port,
    )
    assert job.wait() == "COMPLETED", job.output
    assert "(2 workers)" in job.output
    assert 0.6 < auc_of(job) < 1
    assert job.processes() == {}
    for node in slurm.nodes:
        assert f"persia.worker {node}" in job.output


def test_the_exit_code_is_that_of_the_trainers(slurm, tmp_path):
    job = slurm.submit(tmp_path, "bash", "-c", "exit 3")
    assert job.wait() == "FAILED", job.output
    assert job.exit_code == 3
    assert job.processes() == {}


def test_a_shard_that_cannot_start_fails_the_job(slurm, tmp_path):
    job = slurm.submit(tmp_path, *ENDLESS, SHARD_MEMORY="much")
    assert job.wait() == "FAILED", job.output
    assert "--memory-limit" in job.output
    assert "train.sbatch: the shards did not start" in job.output
    assert "trains" not in job.output


def test_a_shard_that_dies_fails_the_job(slurm, tmp_path):
    job = slurm.submit(tmp_path, *ENDLESS)
    job.wait_for("0: trains")
    shard = next(pid for pid, line in job.processes().items() if " ps --host" in line)
    os.kill(shard, signal.SIGKILL)
    assert job.wait() == "FAILED", job.output
    assert "a shard ended before the trainers did" in job.output
    assert job.processes() == {}


def test_cancelling_a_job_ends_every_process(slurm, tmp_path):
    job = slurm.submit(tmp_path, *ENDLESS)
    job.wait_for("0: trains")
    assert sum(" ps --host" in line for line in job.processes().values()) == 2
    job.cancel()
    assert job.wait() == "CANCELLED", job.output
    assert job.processes() == {}
    # Not killed, but told to end.
    assert job.output.count("Stopped") == 2


def test_a_requeued_job_continues_with_its_rows(slurm, tmp_path):
    program = tmp_path / "program"
    program.write_text(
        '[ -z "$SLURM_RESTART_COUNT" ] || exec echo goes on\n'
        f"{subprocess.list2cmdline(MOVIELENS)} && echo trained && sleep 600\n"
    )
    job = slurm.submit(tmp_path, "bash", str(program))
    job.wait_for("0: trained")
    job.signal("USR1")
    job.wait_for("the job continues when Slurm starts it again")
    rows = rows_of("movielens/user", job.output)
    assert min(rows.values()) > 100
    assert job.wait() == "COMPLETED", job.output
    _, _, continued = job.output.partition("0: goes on\n")
    assert rows_of("movielens/user", continued) == rows
