"""Shards whose processes and folders are lost, and whose standbys take over.

KILLS=100 makes that many kills; CI makes fewer.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from counting import BATCH, Counting
from harness import DEADLINE_SECONDS, same_path, wait_until
from resharding import Repeated

import persia_tf as ptf
from persia_tf import errors
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.promotion import promote

KILLS = int(os.environ.get("KILLS", "4"))
# What a shard logs once its standby has had all rows.
HAS_STANDBY = "this shard has a standby at {}"
PROGRAM = Path(__file__).with_name("launched_counting.py")


class Pair:
    """A shard and its standby, each a process with a folder of its own.

    Args:
        shard_process: The fixture.
        folder: For the recovery folders of both.
        options: More options of both processes.
    """

    def __init__(self, shard_process, folder, options) -> None:
        self._folders = {}

        def start(name, *more):
            recovery = folder / name
            process = shard_process(
                options=[f"--recovery-folder={recovery}", *options, *more]
            )
            self._folders[process] = recovery
            return process

        self._old_log = 0
        self.primary = start("a")
        self.standby = start("b", f"--standby-of={self.primary.address}")

    def _new_log(self) -> str:
        """What the primary has logged since it is the primary."""
        return self.primary.log[self._old_log :]

    def _swap(self) -> None:
        self.primary, self.standby = self.standby, self.primary
        self._old_log = len(self.primary.log)

    def wait_until_copied(self) -> None:
        """Waits until the standby has had all rows."""
        wait_until(
            lambda: HAS_STANDBY.format(self.standby.address) in self._new_log(),
            "the standby to have all rows",
        )

    def lose_primary(self) -> None:
        """Loses the primary as with its machine, and promotes the standby."""
        self.primary.kill()
        shutil.rmtree(self._folders[self.primary])
        promote(self.standby.address, primary_is_gone=True, timeout=DEADLINE_SECONDS)
        self._swap()

    def replace_primary(self) -> None:
        """Promotes the standby of a primary that lives, and stops that."""

        # The primary may know a moment before the standby that it has all rows.
        def promoted() -> bool:
            try:
                promote(self.standby.address, timeout=DEADLINE_SECONDS)
            except errors.FailedPreconditionError:
                return False
            return True

        wait_until(promoted, "the promotion")
        self._swap()
        assert self.standby.stop() == 0
        shutil.rmtree(self._folders[self.standby])

    def start_standby(self) -> None:
        """Starts the former primary as the standby of the present one."""
        self.standby.start([f"--standby-of={self.primary.address}"])


@pytest.fixture
def start_pairs(shard_process, tmp_path):
    """Starts two shards with standbys; gives them."""

    def start(*options):
        return [
            Pair(shard_process, tmp_path / f"recovery{number}", options)
            for number in range(2)
        ]

    return start


def cluster_of(pairs, **options) -> ptf.Cluster:
    addresses = [pair.primary.address for pair in pairs]
    return ptf.Cluster(addresses, timeout=DEADLINE_SECONDS, **options)


def wait_for_steps(counting, training, count) -> None:
    """Waits for more steps of a training, or its error, which `Repeated` raises."""
    target = counting.steps + count
    wait_until(
        lambda: counting.steps >= target or not training.is_running, f"{count} steps"
    )


def train_while(counting, pairs, disturb) -> None:
    """Disturbs a pair KILLS times while a training goes on, and checks its rows."""
    random = np.random.default_rng(KILLS)
    counting()
    with Repeated(counting) as training:
        for _ in range(KILLS):
            pair = random.choice(pairs)
            pair.wait_until_copied()
            # The standby knows that it has all rows once it has got an update that
            # was sent after that. Each step waits for the updates 3 steps before.
            wait_for_steps(counting, training, int(random.integers(4, 13)))
            # Anywhere in a step, which takes some milliseconds.
            threading.Event().wait(random.uniform(0, 0.01))
            disturb(pair)
            wait_for_steps(counting, training, 3)
            pair.start_standby()


def test_no_acknowledged_update_is_lost_with_a_machine(start_pairs, table):
    pairs = start_pairs("--acknowledge=standby", "--log-size=20000")
    cluster = cluster_of(pairs, staleness=2)
    counting = Counting(table, cluster)
    train_while(counting, pairs, Pair.lose_primary)
    cluster.flush()
    assert counting.wrong_rows() == {}
    fresh = ptf.Cluster([pair.primary.address for pair in pairs], timeout=61)
    assert len(fresh.shard_stats()) == 2


@pytest.mark.parametrize("acknowledge", ["self", "standby"])
def test_a_primary_that_lives_is_replaced_without_loss(start_pairs, table, acknowledge):
    pairs = start_pairs(f"--acknowledge={acknowledge}")
    cluster = cluster_of(pairs, staleness=2)
    counting = Counting(table, cluster)
    train_while(counting, pairs, Pair.replace_primary)
    cluster.flush()
    assert counting.wrong_rows() == {}


def test_a_promotion_may_be_repeated_and_an_old_primary_owns_nothing(
    start_pairs, table
):
    pairs = start_pairs("--acknowledge=standby")
    cluster = cluster_of(pairs, staleness=0)
    counting = Counting(table, cluster)
    counting()
    pair = pairs[0]
    pair.wait_until_copied()
    # The standby knows that it has all rows once it has got the next update.
    for _ in range(2):
        counting()
    pair.primary.kill()
    for _ in range(2):
        promote(pair.standby.address, primary_is_gone=True, timeout=DEADLINE_SECONDS)
        promote(pair.standby.address, timeout=DEADLINE_SECONDS)
    for _ in range(5):
        counting()
    pair.primary.start()  # With its old folder.
    for _ in range(5):
        counting()
    assert counting.wrong_rows() == {}
    # The promoted process is started again with the same command.
    pair.standby.kill()
    pair.standby.start()
    counting()
    assert counting.wrong_rows() == {}
    other = ptf.Cluster([pairs[1].primary.address], timeout=DEADLINE_SECONDS)
    assert Counting(table, other).counts().sum() == counting.steps * BATCH


def known_to(shard, away) -> set[str]:
    """Where the shards of the cluster are, as far as one of them knows."""
    with ClusterAdmin([shard.address], DEADLINE_SECONDS) as admin:
        present = admin.look(away).members
    return {member.address for member in present}


def test_a_promoted_process_that_is_started_again_tells_the_others(start_pairs, table):
    pair, other = start_pairs("--acknowledge=standby")
    Counting(table, cluster_of((pair, other), staleness=0))()
    pair.wait_until_copied()
    processes = [pair.primary.address, pair.standby.address, other.standby.address]
    other.primary.kill()
    pair.lose_primary()
    promoted = pair.primary
    promoted.kill()
    other.primary.start()
    assert promoted.address not in known_to(other.primary, processes)
    promoted.start()
    wait_until(
        lambda: promoted.address in known_to(other.primary, processes),
        "the other shard to know of it",
    )


def test_a_standby_that_was_stopped_goes_on(start_pairs, table):
    pairs = start_pairs("--acknowledge=standby")
    cluster = cluster_of(pairs, staleness=2)
    counting = Counting(table, cluster)
    counting()
    with Repeated(counting) as training:
        for pair in pairs:
            pair.wait_until_copied()
            pair.standby.kill()
            pair.standby.start()
            wait_for_steps(counting, training, 5)
            pair.lose_primary()
            wait_for_steps(counting, training, 5)
    cluster.flush()
    assert counting.wrong_rows() == {}


def test_a_standby_that_lacks_rows_is_not_promoted(shard_process, tmp_path):
    nobody = shard_process()
    nobody.kill()
    standby = shard_process(
        options=[f"--recovery-folder={tmp_path}/b", f"--standby-of={nobody.address}"]
    )
    with pytest.raises(errors.FailedPreconditionError):
        promote(standby.address, primary_is_gone=True, timeout=DEADLINE_SECONDS)


def test_a_primary_that_does_not_answer_is_not_replaced_unasked(start_pairs, table):
    pairs = start_pairs()
    counting = Counting(table, cluster_of(pairs, staleness=0))
    counting()
    pair = pairs[0]
    pair.wait_until_copied()
    pair.primary.kill()
    with pytest.raises(errors.PersiaError, match="--primary-is-gone"):
        promote(pair.standby.address, timeout=DEADLINE_SECONDS)
    pair.primary.start()
    counting()
    assert counting.wrong_rows() == {}


class Launch:
    """`persia launch` with standbys, and a program that counts.

    Args:
        folder: For the files of both; made.
        options: More options of the launch.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._log = folder / "log"
        argv = [sys.executable, "-m", "persia_tf.commands.main", "launch"]
        argv += ["--ps=2", "--standbys=1", *options]
        argv += ["--", sys.executable, str(PROGRAM), str(folder)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                argv, env=same_path(), stdout=log, stderr=log, start_new_session=True
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def steps(self) -> int:
        file = self._folder / "steps"
        return int(file.read_text()) if file.exists() else 0

    def wait_for_steps(self, count: int) -> None:
        """Waits until the program has made so many more steps."""
        target = self.steps + count

        def made() -> bool:
            assert self._process.poll() is None, self.log
            return self.steps >= target

        # The program loads TensorFlow first.
        wait_until(made, f"{count} steps", seconds=300)

    def wait_for(self, pattern: str, count: int = 1) -> list[re.Match]:
        """Waits until the log has so many matches; gives them."""
        wait_until(
            lambda: len(re.findall(pattern, self.log)) >= count,
            f"{count} {pattern!r}; the log is\n{self.log}",
            seconds=300,
        )
        return list(re.finditer(pattern, self.log))

    def _server(self, name: str) -> re.Match:
        """The id and the address of the process that a server has now."""
        pattern = r".*(?:Shard|Standby) \(pid (\d+)\) is listening on (\S+);"
        return self.wait_for(rf"(?m)^\[{name}\] {pattern}")[-1]

    def wait_until_copied(self, name: str, standby: str, count: int = 1) -> None:
        """Waits until a server has another one as its standby, so many times."""
        told = HAS_STANDBY.format(self._server(standby)[2])
        self.wait_for(rf"(?m)^\[{name}\] .*{told}", count)

    def kill(self, name: str) -> None:
        """Kills a server's process."""
        os.kill(int(self._server(name)[1]), signal.SIGKILL)

    def stop(self) -> int:
        """Stops the program, whose rows must be right; gives the sum of all rows."""
        (self._folder / "stop").touch()
        assert self._process.wait(DEADLINE_SECONDS) == 0, self.log
        wrong, total = (self._folder / "end").read_text().split()
        assert wrong == "0"
        return int(total)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


@pytest.fixture
def start_launch(tmp_path):
    started = []

    def start(*options):
        started.append(Launch(tmp_path / f"launch{len(started)}", *options))
        return started[-1]

    yield start
    for launch in started:
        launch.end()


def test_a_launched_shard_that_is_killed_is_replaced(start_launch):
    launch = start_launch("--acknowledge=standby")
    launch.wait_for_steps(5)
    shard, standby = "ps 0", "ps 0b"
    for kill in range(KILLS):
        launch.wait_until_copied(shard, standby, kill // 2 + 1)
        # What is acknowledged from then on has reached the standby.
        launch.wait_for_steps(5)
        launch.kill(shard)
        launch.wait_for(rf"shard {standby} \(\S+\) took over after", kill // 2 + 1)
        launch.wait_for_steps(5)
        shard, standby = standby, shard
    assert launch.stop() == launch.steps * BATCH
    assert "failed to restart" not in launch.log


def test_a_launched_standby_that_is_killed_comes_back(start_launch):
    launch = start_launch("--acknowledge=standby")
    launch.wait_for_steps(5)
    launch.wait_until_copied("ps 1", "ps 1b")
    launch.kill("ps 1b")
    launch.wait_for(r"standby ps 1b \(.*it is being restarted")
    launch.wait_for_steps(5)
    assert launch.stop() == launch.steps * BATCH


@pytest.mark.parametrize("standbys", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_next_launch_goes_on_where_the_promoted_one_was(
    start_launch, tmp_path, standbys
):
    folder = f"--recovery-folder={tmp_path}/recovery"
    first = start_launch("--acknowledge=standby", folder)
    first.wait_for_steps(5)
    first.wait_until_copied("ps 0", "ps 0b")
    first.wait_for_steps(5)
    first.kill("ps 0")
    first.wait_for(r"shard ps 0b \(\S+\) took over after")
    first.wait_until_copied("ps 0b", "ps 0")
    first.wait_for_steps(5)
    total = first.stop()
    assert total == first.steps * BATCH
    second = start_launch(folder, f"--standbys={standbys}")
    second.wait_for_steps(5)
    assert second.stop() == total + second.steps * BATCH
