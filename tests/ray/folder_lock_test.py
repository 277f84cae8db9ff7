"""The lock on a cluster's folder of checkpoints, in folders and at URLs."""

import functools
import json
import time

import pytest
from harness import wait_until

from persia_tf import errors
from persia_tf.ray import folder_lock
from persia_tf.ray.folder_lock import Entry, FolderLock


class LockFile:
    """A lock's file that this machine has, and that may be out of reach."""

    def __init__(self, path):
        self.path = path
        self.away = False

    def hold(self, entry, instead_of):
        self._reach()
        return folder_lock.hold(self.path, entry, instead_of)

    def release(self, holder):
        self._reach()
        folder_lock.release(self.path, holder)

    def _reach(self):
        if self.away:
            raise errors.UnavailableError("the folder is away")


@pytest.fixture(params=["folder", "URL"])
def path(request, tmp_path):
    if request.param == "folder":
        return folder_lock.path_of(str(tmp_path / "root" / "ray"))
    pytest.importorskip("fsspec")
    return folder_lock.path_of(f"memory://{tmp_path}/ray")


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    """A time in which nothing is too late on a busy machine, but the lease is short."""
    monkeypatch.setattr(folder_lock, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(folder_lock, "_BEAT_SECONDS", 0.01)
    monkeypatch.setattr(folder_lock, "_FIRST_BEAT_SECONDS", 0.01)
    monkeypatch.setattr(folder_lock, "LEASE_SECONDS", 60.0)


@pytest.fixture
def lock(path, request):
    """Makes locks, which end with the test."""

    def make(about, file=None):
        made = FolderLock(file or LockFile(path), "/root/ray", about)
        request.addfinalizer(made.stop)
        return made

    return make


def entry_in(path):
    return folder_lock._read(path)


def test_the_lock_is_beside_the_folder():
    assert folder_lock.path_of("/root/ray") == "/root/.ray-lock"
    assert folder_lock.path_of("s3://bucket/ray") == "s3://bucket/.ray-lock"


def test_a_second_holder_is_refused_and_told_who_the_first_is(path, lock):
    first = lock("the first")
    with pytest.raises(errors.FailedPreconditionError) as raised:
        lock("the second")
    message = str(raised.value)
    assert message.startswith("another cluster that runs now saves its checkpoints in")
    assert "/root/ray: the first." in message
    assert "another `name=`" in message
    first.check()
    assert entry_in(path).about == "the first"


def test_a_lock_that_was_given_back_is_free_at_once(path, lock):
    FolderLock(LockFile(path), "/root/ray", "the first").stop()
    assert entry_in(path) is None
    lock("the second").check()


def leave(path, text):
    """Leaves a lock's file behind, as of a driver that was killed."""
    folder_lock.files.make_folder(path.rpartition("/")[0])
    folder_lock.files.write_file(path, text)


DEAD = json.dumps({"holder": "dead", "about": "the dead", "beat": 7}).encode()


@pytest.mark.parametrize("text", [DEAD, b"", b"[1]", b'{"holder": 5}'])
def test_the_lock_of_a_dead_holder_is_taken_after_the_lease(
    path, lock, monkeypatch, text
):
    monkeypatch.setattr(folder_lock, "LEASE_SECONDS", 0.1)
    leave(path, text)
    began = time.monotonic()
    lock("the second").check()
    assert time.monotonic() - began >= 0.1
    assert entry_in(path).about == "the second"


def test_a_holder_whose_lock_was_taken_saves_no_more(path, lock):
    first = lock("the first")
    leave(path, json.dumps({"holder": "other", "about": "the other"}).encode())
    with pytest.raises(errors.FailedPreconditionError) as raised:
        first.check()
    assert "another cluster has taken the folder /root/ray" in str(raised.value)
    assert "the other" in str(raised.value)
    first.stop()
    assert entry_in(path).about == "the other"


def test_a_holder_notices_by_itself_that_it_lost_the_lock(path, lock, caplog):
    lock("the first")
    leave(path, json.dumps({"holder": "other", "about": "the other"}).encode())
    wait_until(lambda: "has taken the folder" in caplog.text, "the error")


def test_a_file_that_was_removed_is_written_again(path, lock):
    lock("the first")
    folder_lock.files.remove_file(path)
    wait_until(functools.partial(entry_in, path), "the file")


def test_a_folder_that_is_away_for_a_while_is_tried_again(path, lock, caplog):
    file = LockFile(path)
    first = lock("the first", file)
    file.away = True
    with pytest.raises(errors.UnavailableError, match="the folder is away"):
        first.check()
    wait_until(lambda: "cannot keep the lock of /root/ray" in caplog.text, "the log")
    before = entry_in(path).beat
    file.away = False
    wait_until(lambda: entry_in(path).beat > before, "a change")
    first.check()


def test_a_lock_that_cannot_be_given_back_does_not_stop_the_end(path, lock, caplog):
    file = LockFile(path)
    first = lock("the first", file)
    file.away = True
    first.stop()
    assert "the lock of /root/ray was not given back" in caplog.text


def test_one_of_two_that_begin_at_once_creates_the_file(tmp_path):
    path = str(tmp_path / ".ray-lock")
    assert folder_lock._create(path, Entry("a", "the first"))
    assert not folder_lock._create(path, Entry("b", "the second"))
    assert entry_in(path) == Entry("a", "the first")


def test_a_folder_that_cannot_be_made_is_an_error():
    with pytest.raises(errors.PersiaError, match="/proc/no_such_folder"):
        folder_lock.hold("/proc/no_such_folder/.ray-lock", Entry("a", ""))
