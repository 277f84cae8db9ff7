"""Files at URLs."""

import errno
import threading
import uuid

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from persia_tf import errors
from persia_tf.files import deadlines, failures, libraries, list_folder, read_file
from persia_tf.files.remote import NewFile, OpenFile, RemoteFiles


@pytest.fixture(params=["memory", "s3"])
def folder(request):
    """A URL with no file, below a folder or bucket that exists."""
    if request.param == "s3":
        return f"s3://{request.getfixturevalue('bucket')}/folder"
    return f"memory://{uuid.uuid4()}/folder"


@pytest.fixture
def files():
    return RemoteFiles(seconds=30)


def write(files, url, *parts):
    file = files.create(url)
    for part in parts:
        file.append(part)
    file.finish()
    file.release()


def test_a_file_has_what_was_appended(files, folder):
    files.make_folder(folder)
    write(files, f"{folder}/a", b"some ", b"text")
    assert files.size(f"{folder}/a") == 9
    assert files.contents(f"{folder}/a") == b"some text"
    opened = files.open(f"{folder}/a")
    assert [opened.read(6), opened.read(6), opened.read(6)] == [b"some t", b"ext", b""]
    opened.release()


def test_a_file_may_be_replaced(files, folder):
    for text in (b"old, and long", b"new"):
        write(files, f"{folder}/a", text)
        assert files.contents(f"{folder}/a") == text
        files.write_whole(f"{folder}/b", text)
        assert files.contents(f"{folder}/b") == text
    assert sorted(files.names(folder)) == ["a", "b"]


@pytest.mark.parametrize("size", [10, 60 << 20])
def test_a_file_that_is_given_up_is_not_there(files, bucket, object_store, size):
    file = files.create(f"s3://{bucket}/a")
    file.append(b"x" * size)
    file.release()
    del file
    assert object_store.objects(bucket) == {}
    assert object_store.unfinished_uploads(bucket) == 0


def test_a_large_file_is_whole(files, bucket, object_store):
    part = bytes(range(256)) * (8 << 12)
    write(files, f"s3://{bucket}/a", *[part] * 8)
    assert object_store.objects(bucket)["a"] == part * 8


def test_names_are_of_what_lies_in_a_folder(files, folder):
    write(files, f"{folder}/a", b"")
    write(files, f"{folder}/deeper/b", b"")
    write(files, f"{folder}er/c", b"")
    assert sorted(files.names(folder)) == ["a", "deeper"]
    assert list_folder(folder) == ["a", "deeper"]


def test_what_is_not_there(files, folder):
    with pytest.raises(FileNotFoundError):
        files.open(f"{folder}/a")
    with pytest.raises(FileNotFoundError):
        files.size(f"{folder}/a")
    with pytest.raises(FileNotFoundError):
        files.names(folder)
    files.remove(f"{folder}/a")
    files.remove_folder(folder)
    assert list_folder(folder) == []
    with pytest.raises(errors.NotFoundError, match=f"cannot read {folder}/a"):
        read_file(f"{folder}/a")


def test_what_was_removed_is_gone(files, folder):
    files.make_folder(folder)
    write(files, f"{folder}/a", b"")
    files.remove(f"{folder}/a")
    files.remove_folder(folder)
    assert list_folder(folder) == []


def test_others_changes_are_seen(files, folder):
    others = RemoteFiles()
    assert list_folder(folder) == []
    write(others, f"{folder}/a", b"1")
    assert files.names(folder) == ["a"]
    write(others, f"{folder}/a", b"123")
    assert files.size(f"{folder}/a") == 3
    write(others, f"{folder}/b", b"")
    assert sorted(files.names(folder)) == ["a", "b"]


def test_no_bucket_is_made(files, object_store, bucket):
    url = f"s3://{bucket}-that-is-not-there/folder"
    files.make_folder(url)
    with pytest.raises(FileNotFoundError, match="bucket does not exist"):
        write(files, f"{url}/a", b"")


class Hanging(MemoryFileSystem):
    """A file system that does not answer before the test ends."""

    protocol = "hanging"
    ended = threading.Event()

    def ls(self, path, detail=True, **kwargs):
        self.ended.wait(60)
        return []

    def write(self, *arguments):
        self.ended.wait(60)

    read = close = write


def test_nothing_waits_for_ever():
    fsspec.register_implementation("hanging", Hanging, clobber=True)
    files = RemoteFiles(seconds=0.05)
    file = NewFile(files, Hanging(), remove=lambda: None)
    try:
        for call in (
            lambda: files.names("hanging://a"),
            lambda: file.append(b"x"),
            lambda: OpenFile(files, Hanging()).read(1),
            file.finish,
        ):
            with pytest.raises(TimeoutError, match="no answer in 0.05 s"):
                call()
    finally:
        Hanging.ended.set()


def test_the_end_of_the_process_ends_what_waits():
    calls = deadlines.TimedCalls(3600)
    begun, goes_on = threading.Event(), threading.Event()
    failures = []

    def hang():
        begun.set()
        goes_on.wait(60)

    def wait():
        with pytest.raises(TimeoutError, match="before the end of this process") as end:
            calls.call(hang)
        failures.append(end)

    waiting = threading.Thread(target=wait)
    waiting.start()
    try:
        assert begun.wait(60)
        calls.end_within(3600)  # Not over yet.
        calls.end_within(0)
        waiting.join(60)
        assert len(failures) == 1
        with pytest.raises(TimeoutError):
            calls.call(hang)
    finally:
        goes_on.set()


def test_a_call_in_time_gives_what_it_gives():
    assert deadlines.TimedCalls(30).call(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        deadlines.TimedCalls(30).call(lambda: 1 / 0)


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("unheard-of://a/b", errors.InvalidArgumentError, "unheard-of"),
        ("file:///a", errors.InvalidArgumentError, "without file://"),
        ("sftp://me:hidden@host/a", errors.InvalidArgumentError, "contain a password"),
        ("simplecache::s3://a", errors.InvalidArgumentError, "single remote file"),
    ],
)
def test_urls_that_cannot_be_reached(files, url, error, message):
    with pytest.raises(error, match=message) as raised:
        files.check(url)
    assert "hidden" not in str(raised.value)


def test_a_missing_library_is_named(monkeypatch):
    def fail(url, **options):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", fail)
    with pytest.raises(errors.FailedPreconditionError) as raised:
        libraries.find("s3://a/b")
    assert "Install s3fs" in str(raised.value)
    assert "pip install 'persia_tf[remote]'" in str(raised.value)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FileNotFoundError("a"), errors.NotFoundError.code),
        (FileExistsError("a"), errors.AlreadyExistsError.code),
        (OSError(errno.ENOSPC, "a"), 8),
        (MemoryError(), 8),
        (TimeoutError("a"), errors.UnavailableError.code),
        (PermissionError("a"), errors.UnavailableError.code),
        (KeyError("a"), errors.UnavailableError.code),
        (errors.InvalidArgumentError("a"), errors.InvalidArgumentError.code),
    ],
)
def test_failures_have_codes(error, code):
    assert failures.code_of(error) == code
    assert "a" in failures.text_of(error) or isinstance(error, MemoryError)
