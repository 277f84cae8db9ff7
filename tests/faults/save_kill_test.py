"""Saves that are killed at any moment: a restore gives the last or the new save.

KILLS=100 makes that many kills; CI makes fewer.
"""

from __future__ import annotations

import os
import time

import numpy as np
from harness import DEADLINE_SECONDS
from saver import Saver, restore
from uniform_rows import UniformRows

import persia_tf as ptf

KILLS = int(os.environ.get("KILLS", "6"))
COUNT = 3000


def test_a_save_that_is_killed_leaves_the_one_before_or_is_whole(
    table, shard_process, tmp_path
):
    options = [f"--checkpoint-root={tmp_path}/root", "--log-sync=system"]
    shards = [
        shard_process(options=[*options, f"--recovery-folder={tmp_path}/{name}"])
        for name in ("a", "b")
    ]
    addresses = [shard.address for shard in shards]
    cluster = ptf.Cluster(addresses, timeout=DEADLINE_SECONDS, staleness=0)
    # One call sets all rows before each save.
    rows = UniformRows(table, cluster, COUNT)
    rows.set(0)
    saver = Saver(addresses, incremental=False)
    begin = time.monotonic()
    saver.begin()
    assert saver.end()
    span = time.monotonic() - begin
    random = np.random.default_rng(KILLS)
    last = 0
    outcomes = []
    for number in range(1, KILLS + 1):
        rows.set(number)
        saver = Saver(addresses, incremental=number % 3 > 0)
        saver.begin()
        time.sleep(random.uniform(0, span))
        victim = random.choice([saver, *shards])
        victim.kill()
        saved = saver.end()
        if victim is not saver:
            victim.start()
        restore(cluster)
        found = rows.value()
        assert found == number if saved else found in (last, number)
        outcomes.append(found == number)
        last = found
    print(f"{sum(outcomes)} of {KILLS} killed saves were whole")
