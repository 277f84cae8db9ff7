"""Shards that are ended by SIGTERM during a save, or while they write their logs.

KILLS=100 makes that many stops; CI makes fewer.
"""

from __future__ import annotations

import os
import socket
import threading
import time

import numpy as np
import pytest
import tcp_proxy
from harness import DEADLINE_SECONDS, wait_until
from saver import FOLDER, restore
from uniform_rows import UniformRows

import persia_tf as ptf
from persia_tf import errors, files

STOPS = int(os.environ.get("KILLS", "4"))
COUNT = 20_000


class Writer:
    """Sets all rows to 1, to 2, ... in a thread, until its `with` block ends.

    Attributes:
        acknowledged: The last number that the shards have taken.
    """

    def __init__(self, rows) -> None:
        self.acknowledged = 0
        self._rows = rows
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: BaseException | None = None

    def __enter__(self) -> Writer:
        self._thread.start()
        wait_until(lambda: self.acknowledged or self._error, "the first write")
        return self

    def __exit__(self, *failure: object) -> None:
        self._ends.set()
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()
        if self._error:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._ends.is_set():
                self._rows.set(self.acknowledged + 1)
                self.acknowledged += 1
        except BaseException as error:
            self._error = error


def test_no_write_is_lost_and_a_save_is_whole_or_absent(table, shard_process, tmp_path):
    root = tmp_path / "root"
    shards = [
        shard_process(
            options=[
                f"--checkpoint-root={root}",
                f"--recovery-folder={tmp_path}/{name}",
                # The logs are small, so that bases replace them during the test as
                # well.
                *("--log-sync=system", "--log-size=20000"),
            ]
        )
        for name in ("a", "b")
    ]
    addresses = [shard.address for shard in shards]
    cluster = ptf.Cluster(addresses, timeout=DEADLINE_SECONDS, staleness=0)
    rows = UniformRows(table, cluster, COUNT)
    written = UniformRows(f"{table}_written", cluster, COUNT)
    rows.set(0)
    begin = time.monotonic()
    ptf.checkpoint.save(FOLDER, cluster=cluster)
    span = time.monotonic() - begin
    random = np.random.default_rng(STOPS)
    last = outcomes = 0
    for number in range(1, STOPS + 1):
        rows.set(number)
        with Writer(written) as writer:
            save = ptf.checkpoint.save(FOLDER, cluster=cluster, block=False)
            time.sleep(random.uniform(0, span))
            shard = random.choice(shards)
            assert shard.stop() == 0
            shard.start()
        assert written.value() == writer.acknowledged
        assert rows.value() == number
        try:
            last, saved = number, save.wait()
            outcomes += 1
        except errors.PersiaError:
            last, saved = last, None
        there = f"{root}/{save.folder}/MANIFEST.json"
        assert os.path.exists(there) == (saved is not None)
        restore(cluster)
        assert rows.value() == last
    print(f"{outcomes} of {STOPS} saves were whole")


@pytest.mark.slow
def test_a_save_that_storage_holds_up_does_not_hold_up_the_end(
    table, shard_process, start_shards, object_store, bucket
):
    root = f"s3://{bucket}/root"
    files.reach_urls(root)
    with tcp_proxy.TcpProxy(object_store.address) as proxy:
        shard = shard_process(
            options=["--checkpoint-root", root],
            env=object_store.environment(proxy.address),
        )
        # The first shard is asked where to save, and reaches the storage.
        [other] = start_shards(1, checkpoint_root=root)
        addresses = [other.address, shard.address]
        cluster = ptf.Cluster(addresses, timeout=DEADLINE_SECONDS)
        rows = UniformRows(table, cluster, COUNT)
        rows.set(1)
        first = ptf.checkpoint.save(FOLDER, cluster=cluster)
        rows.set(2)
    # The test waits for this time-out, as the stopped shard never answers.
    impatient = ptf.Cluster(addresses, timeout=10)
    # A storage server that accepts what it is sent, and never answers.
    with socket.create_server(("127.0.0.1", proxy.port)):
        save = ptf.checkpoint.save(FOLDER, cluster=impatient, block=False)
        assert shard.stop() == 0
        with pytest.raises(errors.PersiaError):
            save.wait()
    moved = ptf.Cluster(
        [one.address for one in start_shards(3, checkpoint_root=root)],
        timeout=DEADLINE_SECONDS,
    )
    rows = UniformRows(table, moved, COUNT)
    assert restore(moved) == first.folder
    assert rows.value() == 1
