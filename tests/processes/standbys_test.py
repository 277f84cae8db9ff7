"""What is done when a shard or its standby ends, with processes that are fakes."""

import logging
import signal
from pathlib import Path

import pytest

from persia_tf import errors
from persia_tf.base.addresses import Address
from persia_tf.processes.shard_folders import ShardFolders
from persia_tf.processes.standbys import Standbys


class FakeChild:
    """A process that ends when a test says so."""

    pid = 1

    def __init__(self):
        self.code = None

    def poll(self):
        return self.code

    def wait(self):
        assert self.code is not None, "it would wait for ever"
        return self.code

    def send(self, signum):
        self.code = 128 + signum

    def join_log(self, seconds):
        pass


class FakeServer:
    """A server whose restarts are noted."""

    def __init__(self, name, port, is_standby):
        self.name = name
        self.is_standby = is_standby
        self.address = Address("127.0.0.1", port)
        self.child = FakeChild()
        self.listens = True
        self.restarts = []

    @property
    def title(self):
        return f"{'standby' if self.is_standby else 'shard'} {self.name}"

    def told_end(self, code):
        return f"{self.title} ended with exit code {code}"

    def end(self):
        self.child.code = 137

    def restart(self, more=None):
        assert self.child.code is not None, "it runs"
        self.restarts.append(more)
        self.child = FakeChild()
        self.listens = False


class Cluster:
    """One shard with its standby, and a promotion that may fail."""

    def __init__(self, folder):
        self.shard = FakeServer("ps 0", 7000, False)
        self.standby = FakeServer("ps 0b", 7001, True)
        self.folders = ShardFolders(folder, 0)
        self.own = Path(self.folders.serving)
        self.copy = Path(self.folders.spare)
        for each in (self.own, self.copy):
            each.mkdir()
            (each / "log").touch()
        self.promoted = []
        self.failure = None
        self.standbys = self.new_standbys()
        self.standbys.add([self.shard], [self.standby])
        self.tend = self.standbys.tend

    def new_standbys(self):
        logger = logging.getLogger("persia.test")
        return Standbys([self.folders], self.promote, logger)

    def promote(self, address):
        # What a launch that is killed now leaves: the next one goes on from there.
        left = ShardFolders(self.own.parent, 0)
        assert left.serving == self.folders.serving
        assert left.former_primary is not None
        self.promoted.append(address)
        if self.failure:
            raise self.failure

    def has_rows(self, folder):
        return (folder / "log").exists()


@pytest.fixture
def cluster(tmp_path):
    return Cluster(tmp_path)


def test_nothing_is_done_while_both_run(cluster):
    cluster.tend()
    assert (cluster.promoted, cluster.shard.restarts, cluster.standby.restarts) == (
        *([], [], []),
    )


def test_a_shard_that_ends_is_replaced_and_becomes_the_standby(cluster, caplog):
    cluster.shard.end()
    with caplog.at_level("INFO"):
        cluster.tend()
    assert cluster.promoted == ["127.0.0.1:7001"]
    assert cluster.shard.restarts == [["--standby-of=127.0.0.1:7001"]]
    assert cluster.shard.title == "standby ps 0"
    assert cluster.standby.title == "shard ps 0b"
    assert cluster.standby.restarts == []
    assert not cluster.has_rows(cluster.own)
    assert cluster.has_rows(cluster.copy)
    assert cluster.folders.serving == str(cluster.copy)
    assert cluster.folders.former_primary is None
    told, done = caplog.messages
    assert told == (
        "shard ps 0 ended with exit code 137; its standby ps 0b (127.0.0.1:7001) takes "
        "its place"
    )
    assert done.startswith("shard ps 0b (127.0.0.1:7001) took over after 0.")
    assert done.endswith("ps 0 (127.0.0.1:7000) starts as its standby")


def test_the_new_standby_takes_the_place_of_the_promoted_one(cluster):
    cluster.shard.end()
    cluster.tend()
    cluster.shard.listens = True
    (cluster.own / "log").touch()
    cluster.standby.end()
    cluster.tend()
    assert cluster.promoted == ["127.0.0.1:7001", "127.0.0.1:7000"]
    assert cluster.standby.restarts == [["--standby-of=127.0.0.1:7000"]]
    assert cluster.shard.title == "shard ps 0"
    assert cluster.has_rows(cluster.own)
    assert not cluster.has_rows(cluster.copy)


def test_a_standby_that_ends_is_started_again_as_it_was(cluster):
    cluster.standby.end()
    cluster.tend()
    assert cluster.standby.restarts == [None]
    assert cluster.has_rows(cluster.copy)
    assert (cluster.promoted, cluster.shard.restarts) == ([], [])


def test_if_both_end_both_are_started_again_as_they_were(cluster):
    cluster.shard.end()
    cluster.standby.end()
    cluster.tend()
    assert (cluster.shard.restarts, cluster.standby.restarts) == ([None], [None])
    assert cluster.promoted == []
    assert cluster.has_rows(cluster.own)
    assert cluster.has_rows(cluster.copy)


def test_a_shard_that_ends_while_its_standby_starts_is_started_again(cluster):
    cluster.standby.listens = False
    cluster.shard.end()
    cluster.tend()
    assert (cluster.promoted, cluster.shard.restarts) == ([], [None])


def test_a_standby_that_refuses_leaves_the_shard_its_place(cluster, caplog):
    cluster.failure = errors.FailedPreconditionError("it lacks rows")
    cluster.shard.end()
    cluster.tend()
    assert cluster.shard.restarts == [None]
    assert cluster.standby.restarts == []
    assert cluster.folders.serving == str(cluster.own)
    assert cluster.has_rows(cluster.own)
    assert "standby ps 0b cannot take its place: it lacks rows" in caplog.messages


def test_a_standby_that_does_not_answer_is_restarted_with_the_shard(cluster):
    cluster.failure = errors.UnavailableError("no answer")
    child = cluster.standby.child
    cluster.shard.end()
    cluster.tend()
    assert child.code == 128 + signal.SIGKILL
    assert (cluster.shard.restarts, cluster.standby.restarts) == ([None], [None])
    assert cluster.folders.serving == str(cluster.own)


def test_a_shard_that_cannot_come_back_is_replaced_by_a_standby_that_starts(cluster):
    cluster.shard.end()
    cluster.standby.end()
    cluster.tend()
    cluster.shard.end()
    cluster.tend()
    assert cluster.promoted == ["127.0.0.1:7001"]
    assert cluster.shard.restarts == [None, ["--standby-of=127.0.0.1:7001"]]


def test_a_standby_that_cannot_come_back_gets_an_empty_folder_once(cluster, caplog):
    cluster.standby.end()
    cluster.tend()
    cluster.standby.end()
    cluster.tend()
    assert not cluster.has_rows(cluster.copy)
    assert cluster.standby.restarts == [None, None]
    cluster.standby.end()
    for _ in range(2):
        cluster.tend()
    assert cluster.standby.restarts == [None, None]
    assert caplog.messages[-1].endswith("and shard ps 0 has no standby any more")
    cluster.shard.end()
    cluster.tend()
    assert (cluster.promoted, cluster.shard.restarts) == ([], [None])


def test_a_folder_is_not_emptied_while_the_shard_is_down(cluster):
    for _ in range(2):
        cluster.standby.end()
        cluster.shard.end()
        cluster.tend()
    assert cluster.has_rows(cluster.own)
    assert cluster.has_rows(cluster.copy)


def test_what_cannot_come_back_is_told_once(cluster, caplog):
    for _ in range(2):
        cluster.standby.end()
        cluster.shard.end()
        cluster.tend()
    told = [message for message in caplog.messages if "failed to restart" in message]
    cluster.tend()
    assert len(told) == 2
    assert caplog.messages[-2:] == told


def test_a_promotion_that_an_earlier_launch_began_is_finished(cluster):
    cluster.folders.begin_promotion(Address("127.0.0.1", 6999))
    standbys = cluster.new_standbys()
    assert standbys.begun_options(0) == ["--standby-of=127.0.0.1:6999"]
    standbys.finish_promotions([Address("127.0.0.1", 7005)])
    assert cluster.promoted == ["127.0.0.1:7005"]
    assert standbys.begun_options(0) == []
    assert cluster.folders.serving == str(cluster.copy)
    assert not cluster.has_rows(cluster.own)
    standbys.finish_promotions([Address("127.0.0.1", 7005)])
    assert cluster.promoted == ["127.0.0.1:7005"]


def test_a_begun_promotion_that_is_refused_is_undone(cluster):
    cluster.failure = errors.FailedPreconditionError("it lacks rows")
    cluster.folders.begin_promotion(Address("127.0.0.1", 6999))
    with pytest.raises(errors.FailedPreconditionError, match="it lacks rows. .*again"):
        cluster.new_standbys().finish_promotions([Address("127.0.0.1", 7005)])
    assert cluster.folders.serving == str(cluster.own)
    assert cluster.has_rows(cluster.own)


def test_shards_without_folders_have_nothing_to_finish():
    standbys = Standbys([], pytest.fail, logging.getLogger("persia.test"))
    assert standbys.begun_options(0) == []
    standbys.finish_promotions([Address("127.0.0.1", 7000)])
    standbys.tend()
