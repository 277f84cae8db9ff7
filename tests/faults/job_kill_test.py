"""A whole job whose processes are killed at random: the end is that of no kill at all.

KILLS=100 makes that many kills; CI makes fewer.
"""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from harness import ShardProcess, wait_until

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

KILLS = int(os.environ.get("KILLS", "4"))
EPOCHS = 2
STEPS_PER_KILL = 12
# Of an epoch: more than what the kills need, since some steps are made again.
STEPS = max(STEPS_PER_KILL * (KILLS + 1) // EPOCHS, 50)
BATCH = 16
DATA = (sys.executable, "-m", "persia_tf.commands.main", "data")
PROGRAM = Path(__file__).with_name("killed_job.py")
VICTIMS = ("trainer", "data worker", "dispatcher", "shard")
# Of one start of the trainer, within which it must make a step.
DEADLINE_SECONDS = 180


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(2):
        rows = STEPS * BATCH // 2
        columns = {
            "id": rng.integers(0, 1 << 40, rows),
            "y": rng.random(rows, np.float32),
        }
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=10)
    return tmp_path


class Job:
    """A training job with two shards, a dispatcher and two data workers."""

    def __init__(self, folder: Path, data: Path, shard_process) -> None:
        self._folder = folder
        folder.mkdir()
        root = f"--checkpoint-root={folder}"
        self.shards = [
            shard_process(
                options=[root, f"--recovery-folder={folder}/recovery{number}"]
            )
            for number in range(2)
        ]
        self.dispatcher = ShardProcess(
            folder / "dispatcher", [*DATA, "dispatcher", f"--work-dir={folder}/journal"]
        )
        self.dispatcher.start()
        self.workers = [
            ShardProcess(
                folder / f"worker{number}",
                [*DATA, "worker", f"--dispatcher={self.dispatcher.address}"],
            )
            for number in range(2)
        ]
        for worker in self.workers:
            worker.start()
        addresses = ",".join(shard.address for shard in self.shards)
        self._command = [sys.executable, str(PROGRAM), str(data), str(folder / "job")]
        self._command += [addresses, str(EPOCHS), self.dispatcher.address]
        self.steps_file = folder / "steps"
        self.steps_file.touch()
        self.trainer: subprocess.Popen | None = None

    @property
    def steps(self) -> int:
        """How many steps were made, with those that were lost and made again."""
        return self.steps_file.stat().st_size

    def allow(self, steps: int | None) -> None:
        """Lets the trainer make no more than so many steps; None for all."""
        file = self._folder / "allowed"
        new = file.with_suffix(".new")
        new.write_text("" if steps is None else str(steps))
        new.rename(file)

    def start_trainer(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self.trainer = subprocess.Popen(self._command, stdout=log, stderr=log)

    def has_made(self, steps: int) -> bool:
        """Whether the trainer has made some steps; it must not have ended."""
        assert self.trainer.poll() is None, (self._folder / "log").read_text()[-8000:]
        return self.steps >= steps

    def kill(self, victim: str, number: int) -> None:
        """Kills a process at once, and starts another one in its place."""
        if victim == "trainer":
            self.trainer.kill()
            self.trainer.wait()
            self.start_trainer()
            return
        process = {
            "data worker": self.workers[number],
            "dispatcher": self.dispatcher,
            "shard": self.shards[number],
        }[victim]
        process.kill()
        process.start()

    def end(self) -> dict[str, np.ndarray]:
        """Waits for the trainer's end, and returns the state that it left."""
        assert self.trainer.wait(DEADLINE_SECONDS) == 0, (
            self._folder / "log"
        ).read_text()[-8000:]
        with np.load(self._folder / "end.npz") as file:
            return dict(file)

    def stop(self) -> None:
        if self.trainer is not None:
            self.trainer.kill()
            self.trainer.wait()
        for process in (*self.workers, self.dispatcher):
            process.end()


@pytest.fixture
def start_job(tmp_path, data, shard_process):
    started = []

    def start(name: str) -> Job:
        job = Job(tmp_path / name, data, shard_process)
        started.append(job)
        job.start_trainer()
        return job

    yield start
    for job in started:
        job.stop()


def kill_at_random(job: Job) -> collections.Counter:
    """Kills processes while the job goes on; returns how many of each kind."""
    rng = np.random.default_rng(KILLS)
    victims = [VICTIMS[number % len(VICTIMS)] for number in range(KILLS)]
    done: collections.Counter = collections.Counter()
    for victim in rng.permutation(victims):
        target = job.steps + int(rng.integers(1, STEPS_PER_KILL))
        # Some more are made while the process is killed and starts again.
        job.allow(target + STEPS_PER_KILL // 2)
        wait_until(
            lambda target=target: job.has_made(target),
            f"{target} steps",
            DEADLINE_SECONDS,
        )
        time.sleep(rng.uniform(0, 0.03))  # At any moment of a step.
        job.kill(str(victim), int(rng.integers(2)))
        done[str(victim)] += 1
    job.allow(None)
    return done


def test_each_sample_is_trained_once_whatever_is_killed(start_job):
    undisturbed = start_job("undisturbed").end()
    job = start_job("killed")
    done = kill_at_random(job)
    killed = job.end()
    print(f"{dict(done)}; {job.steps} steps made for {EPOCHS * STEPS}")
    assert sum(done.values()) == KILLS
    assert undisturbed.keys() == killed.keys()
    for name, value in undisturbed.items():
        assert value.tobytes() == killed[name].tobytes(), name
    assert killed["counts"][:, 1].sum() == EPOCHS * STEPS * BATCH
