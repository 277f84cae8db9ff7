"""Increments that are killed at any moment: a restore gives one whole save.

KILLS=100 makes that many kills; CI makes fewer.
"""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from harness import DEADLINE_SECONDS
from saver import FOLDER, Saver, once_free, restore
from training import SeededTraining

import persia_tf as ptf
from persia_tf import checkpoint

KILLS = int(os.environ.get("KILLS", "3"))
IDS = 20_000
PART = IDS // 10


class Changes:
    """Changes some rows of a table at a time, and knows the rows that it must have.

    Args:
        rows: The table.
        seed: The seed of the changes.
    """

    def __init__(self, rows, seed: int) -> None:
        self._rows = rows
        self._random = np.random.default_rng(seed)
        self._number = 0
        self.expected: dict[int, float] = {}

    def make(self) -> dict[int, float]:
        """Sets some rows and removes others; returns the rows of the table then."""
        ids = self._random.choice(IDS, PART, replace=False)
        gone, ids = ids[: PART // 10], ids[PART // 10 :]
        self._number += 1
        self._rows.assign(ids, np.full((len(ids), 4), self._number, "float32"))
        self._rows.remove(gone)
        self.expected.update(dict.fromkeys(ids.tolist(), float(self._number)))
        for one in gone.tolist():
            self.expected.pop(one, None)
        return dict(self.expected)

    def found(self) -> dict[int, float]:
        """Returns the rows that the table has."""
        found = {}
        for page in self._rows.export():
            assert (page.rows == page.rows[:, :1]).all()
            found.update(zip(page.ids.tolist(), page.rows[:, 0].tolist()))
        return found


class Run:
    """Two shards in processes, and a table on them whose rows change."""

    def __init__(self, table, shard_process, folder, seed: int) -> None:
        root = f"--checkpoint-root={folder}/root"
        self.shards = [
            shard_process(
                options=[root, f"--recovery-folder={folder}/{name}"]
                + ["--log-sync=system"]
            )
            for name in ("a", "b")
        ]
        self.addresses = [shard.address for shard in self.shards]
        self.cluster = ptf.Cluster(
            self.addresses, timeout=DEADLINE_SECONDS, staleness=0
        )
        SeededTraining(steps=1).run(table, self.cluster)
        rows = ptf.Table(table, cluster=self.cluster)
        rows.remove(range(300))
        self.changes = Changes(rows, seed)
        self.random = np.random.default_rng(seed)

    def save(self, incremental: bool = True) -> checkpoint.Save:
        """Saves once no other save runs on the shards; this save must succeed."""
        return once_free(
            lambda: ptf.checkpoint.save(
                FOLDER, cluster=self.cluster, incremental=incremental
            ),
            "a save",
        )

    def time_of_a_save(self) -> float:
        """Returns how long a program takes for a save, roughly."""
        saver = Saver(self.addresses, incremental=True)
        begin = time.monotonic()
        saver.begin()
        assert saver.end()
        return time.monotonic() - begin

    def break_off_a_save(self, victim, within: float) -> bool:
        """Kills `victim`, or else the saving program; returns whether it saved."""
        saver = Saver(self.addresses, incremental=True)
        saver.begin()
        time.sleep(self.random.uniform(0, within))
        (victim or saver).kill()
        if victim is not None:
            victim.start()
        return saver.end()

    def assert_restores(self, *expected) -> None:
        """Restores the newest checkpoint; the table must then be one of these."""
        restore(self.cluster)
        assert self.changes.found() in expected
        self.changes.expected = self.changes.found()


@pytest.fixture
def run(table, shard_process, tmp_path):
    return Run(table, shard_process, tmp_path, seed=KILLS)


def test_a_chain_restores_to_one_save_whichever_shard_is_killed(run):
    run.changes.make()
    run.save(incremental=False)
    within = run.time_of_a_save()
    whole = 0
    for _ in range(KILLS):
        # The restored rows are of one save, and the next save succeeds too.
        run.save()
        run.changes.make()
        assert run.save().is_incremental
        last = run.changes.make()
        assert run.save().is_incremental
        new = run.changes.make()
        saved = run.break_off_a_save(run.random.choice(run.shards), within)
        assert run.changes.found() == new  # The shard recovered its rows.
        run.assert_restores(*([new] if saved else [last, new]))
        whole += run.changes.expected == new
    print(f"{whole} of {KILLS} killed increments were whole")


@pytest.mark.slow
def test_what_a_killed_program_did_not_save_is_in_the_next_increment(run):
    run.changes.make()
    run.save(incremental=False)
    within = run.time_of_a_save()
    for _ in range(KILLS):
        run.changes.make()
        run.break_off_a_save(None, within)
        run.changes.make()
        # A whole save, if the program was killed before it told the shards of its save.
        run.save()
        run.changes.make()
        assert run.save().is_incremental
        now = run.changes.make()
        assert run.save().is_incremental
    run.assert_restores(now)
