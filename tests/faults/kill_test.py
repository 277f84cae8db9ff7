"""Shards that are killed at any moment, again and again, while training goes on.

KILLS=100 makes that many kills; CI makes fewer.
"""

from __future__ import annotations

import os
import re
import threading

import numpy as np
import pytest
from harness import DEADLINE_SECONDS
from training import SeededTraining, assert_same_rows

import persia_tf as ptf
from persia_tf._keras import keras

KILLS = int(os.environ.get("KILLS", "4"))
STEPS_A_KILL = 25
TRAINING = SeededTraining(steps=STEPS_A_KILL * (KILLS + 1))
TIMEOUT_SECONDS = 60


class Killer(keras.callbacks.Callback):
    """Kills one of the shards every few steps, at a random moment within a step.

    Args:
        shards: Started processes.
        kills: How many times in all.
        seed: The seed of the choices.
    """

    def __init__(self, shards, kills: int, seed: int) -> None:
        super().__init__()
        self.done = 0
        self._shards = shards
        self._kills = kills
        self._random = np.random.default_rng(seed)
        self._steps = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run)
        self._error: BaseException | None = None

    def on_train_begin(self, logs=None):
        self._thread.start()

    def on_train_batch_end(self, batch, logs=None):
        self._steps.release()

    def join(self) -> None:
        """Waits for the last kill, and raises its error if it failed."""
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()
        if self._error:
            raise self._error

    def _run(self) -> None:
        try:
            for _ in range(self._kills):
                self._kill_one()
        except BaseException as error:
            self._error = error

    def _kill_one(self) -> None:
        for _ in range(self._random.integers(1, STEPS_A_KILL)):
            assert self._steps.acquire(timeout=DEADLINE_SECONDS)
        # Anywhere in a step, which takes some milliseconds.
        threading.Event().wait(self._random.uniform(0, 0.01))
        shard = self._random.choice(self._shards)
        shard.kill()
        shard.start()
        self.done += 1


def log_options(folder, name):
    # The logs are small, so that some kills come while a base replaces the log.
    folder = folder / "recovery" / name
    return [f"--recovery-folder={folder}", "--log-size=20000"]


def test_no_update_is_lost_and_none_is_done_twice(
    table, shard_process, start_shards, rows_of, tmp_path
):
    addresses = [shard.address for shard in start_shards(2)]
    clean = ptf.Cluster(addresses, timeout=TIMEOUT_SECONDS, staleness=0)
    expected_weights = TRAINING.run(table, clean)

    shards = [shard_process(options=log_options(tmp_path, name)) for name in ("a", "b")]
    addresses = [shard.address for shard in shards]
    cluster = ptf.Cluster(addresses, timeout=TIMEOUT_SECONDS, staleness=0)
    killer = Killer(shards, KILLS, seed=KILLS)
    weights = TRAINING.run(table, cluster, callbacks=[killer])
    killer.join()
    assert killer.done == KILLS
    assert_same_rows(rows_of(table, cluster), rows_of(table, clean))
    for weight, expected in zip(weights, expected_weights):
        np.testing.assert_array_equal(weight, expected)
    assert list(tmp_path.rglob("base-*"))


@pytest.mark.slow
@pytest.mark.parametrize("sync", ["device", "system"])
def test_tables_and_optimizers_come_back_by_themselves(
    table, shard_process, rows_of, tmp_path, sync
):
    """Restarted servers of the original PERSIA refused all updates."""
    options = [f"--recovery-folder={tmp_path}/recovery", f"--log-sync={sync}"]
    shard = shard_process(options=options)
    cluster = ptf.Cluster([shard.address], timeout=TIMEOUT_SECONDS, staleness=0)
    TRAINING.run(table, cluster)
    rows = rows_of(table, cluster)
    shard.kill()
    shard.start()
    # No program has made the table again, and its updates continue.
    assert_same_rows(rows_of(table, cluster), rows)
    assert "recovered 1 tables" in shard.log
    TRAINING.run(table, cluster)
    after = rows_of(table, cluster)
    assert any((after[row_id] != row).any() for row_id, row in rows.items())


@pytest.mark.slow
def test_a_restored_checkpoint_survives_too(table, shard_process, rows_of, tmp_path):
    options = [f"--checkpoint-root={tmp_path}/root", "--log-size=1"]
    shards = [
        shard_process(options=[*options, f"--recovery-folder={tmp_path}/{name}"])
        for name in ("a", "b")
    ]
    addresses = [shard.address for shard in shards]
    cluster = ptf.Cluster(addresses, timeout=TIMEOUT_SECONDS, staleness=0)
    TRAINING.run(table, cluster)
    saved = rows_of(table, cluster)
    ptf.checkpoint.save("saved", cluster=cluster)
    TRAINING.run(table, cluster)
    ptf.checkpoint.restore("saved", cluster=cluster)
    for shard in shards:
        shard.kill()
        shard.start()
    assert_same_rows(rows_of(table, cluster), saved)
    # The shards agree on the restore that their rows come from, and continue from it.
    killer = Killer(shards, kills=1, seed=0)
    TRAINING.run(table, cluster, callbacks=[killer])
    killer.join()


@pytest.mark.parametrize(
    "incremental", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_a_shard_comes_back_from_its_last_checkpoint_and_says_what_it_lacks(
    table, shard_process, rows_of, tmp_path, incremental
):
    options = [f"--checkpoint-root={tmp_path}/root", "--recovery=checkpoint"]
    shards = [
        shard_process(options=[*options, f"--recovery-folder={tmp_path}/{name}"])
        for name in ("a", "b")
    ]
    addresses = [shard.address for shard in shards]
    cluster = ptf.Cluster(addresses, timeout=TIMEOUT_SECONDS, staleness=0)
    if incremental:
        TRAINING.run(table, cluster)
        ptf.checkpoint.save("saved", cluster=cluster)
    TRAINING.run(table, cluster)
    ptf.checkpoint.save("saved", cluster=cluster, incremental=incremental)
    saved = rows_of(table, cluster)
    killer = Killer(shards, KILLS, seed=1)
    TRAINING.run(table, cluster, callbacks=[killer])
    killer.join()
    # Each killed shard says how many updates of its one client it lacks: no more than
    # were trained since.
    lost = [
        int(count)
        for shard in shards
        for count in re.findall(r"lost up to (\d+) of its updates", shard.log)
    ]
    assert lost
    assert max(lost) <= TRAINING.steps
    assert rows_of(table, cluster).keys() >= saved.keys()
    for shard in shards:
        shard.kill()
        shard.start()
    assert_same_rows(rows_of(table, cluster), saved)


def test_training_goes_on_without_any_checkpoint(table, shard_process, tmp_path):
    shard = shard_process(
        options=[
            f"--checkpoint-root={tmp_path}/root",
            f"--recovery-folder={tmp_path}/recovery",
            "--recovery=checkpoint",
        ]
    )
    cluster = ptf.Cluster([shard.address], timeout=TIMEOUT_SECONDS, staleness=0)
    killer = Killer([shard], kills=1, seed=2)
    TRAINING.run(table, cluster, callbacks=[killer])
    killer.join()
    assert "no checkpoint, since there is none yet" in shard.log
