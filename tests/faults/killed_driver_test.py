"""`persia reshard` that is killed at each of its states, and given again.

KILLS=100 makes about so many kills; CI makes fewer.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from counting import Counting
from harness import DEADLINE_SECONDS, same_path
from killed_driver import STATES
from resharding import Repeated, reshard

import persia_tf as ptf
from persia_tf.resharding.admin import ClusterAdmin

PROGRAM = Path(__file__).with_name("killed_driver.py")
# Shards join, and then leave: a driver comes to most states both times.
ROUNDS = max(1, int(os.environ.get("KILLS", "0")) // (2 * len(STATES)))


def killed(state, present, shards) -> bool:
    """Whether the driver came to the state, and so was killed there."""
    command = [sys.executable, str(PROGRAM), state]
    command += ["--from", present[0].address]
    command += ["--to", ",".join(shard.address for shard in shards)]
    done = subprocess.run(
        command,
        env=same_path(),
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.parametrize("state", STATES)
def test_the_next_driver_ends_what_the_killed_one_began(state, table, shard_process):
    shards = [shard_process() for _ in range(3)]
    cluster = ptf.Cluster([shard.address for shard in shards[:2]], timeout=20)
    counting = Counting(table, cluster)
    counting()
    kills = 0
    with Repeated(counting):
        for _ in range(ROUNDS):
            for wanted in (shards, shards[:2]):
                kills += killed(state, shards, wanted)
                reshard(shards, wanted)
    cluster.flush()
    assert kills > 0
    assert counting.wrong_rows() == {}
    with ClusterAdmin([shards[0].address], 20) as admin:
        topology = admin.topology()
    addresses = sorted(member.address for member in topology.present)
    assert addresses == sorted(shard.address for shard in shards[:2])
    assert all(topology.slots_of(member.id) == 8192 for member in topology.present)
