"""Files at URLs, through fsspec."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from persia_tf.files import libraries
from persia_tf.files.deadlines import TimedCalls

_Value = TypeVar("_Value")

# The time-out of a request, which includes retries by fsspec's library. It is ample,
# since a request transfers at most a few megabytes.
_SECONDS = 120.0

# URL schemes of object stores. In an object store, writing an object is atomic, and a
# folder exists as soon as it contains an object. Folders are never created there, since
# that request could create a bucket. Other schemes have real folders; their files are
# written under a temporary name and then renamed, which is atomic.
_OBJECT_STORES = {"abfs", "abfss", "az", "gcs", "gs", "oci", "oss", "r2", "s3", "s3a"}


class RemoteFiles:
    """Accesses files at URLs, for the native core and for commands. Thread-safe.

    A method raises TimeoutError if a request takes longer than `seconds`, and any
    exception that the URL's library raises.

    Args:
        seconds: The time-out of each request.
    """

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._calls = TimedCalls(seconds)
        self._lock = threading.Lock()
        self._systems: dict[tuple[str, str], Any] = {}  # Guarded by _lock.

    @staticmethod
    @functools.cache
    def shared() -> RemoteFiles:
        """Returns the instance that the whole process shares."""
        return RemoteFiles()

    def check(self, url: str) -> None:
        """Checks that the URL's library is installed. This call makes no request.

        Raises:
            FailedPreconditionError: if the library for the URL is not installed.
            InvalidArgumentError: if no library supports the URL.
        """
        self._system(url)

    def names(self, url: str) -> list[str]:
        """Lists the names in a folder."""

        def names(system: Any, path: str) -> list[str]:
            found = {name.rstrip("/") for name in system.ls(path, detail=False)}
            # Leave out the object that may represent the folder itself in a bucket.
            return [name.rsplit("/", 1)[-1] for name in found - {path.rstrip("/")}]

        return self._on(url, names)

    def size(self, url: str) -> int:
        """Returns the size of a file in bytes."""
        return self._on(url, lambda system, path: system.size(path))

    def contents(self, url: str) -> bytes:
        """Reads a small file."""
        return self._on(url, lambda system, path: system.cat_file(path))

    def write_whole(self, url: str, contents: bytes) -> None:
        """Writes a small file atomically."""

        def write(system: Any, path: str) -> None:
            if _scheme(url) in _OBJECT_STORES:
                system.pipe_file(path, contents)
                return
            system.pipe_file(path + ".tmp", contents)
            system.mv(path + ".tmp", path)

        self._on(url, write)

    def remove(self, url: str) -> None:
        """Removes a file, if it exists."""

        def remove(system: Any, path: str) -> None:
            with contextlib.suppress(FileNotFoundError):
                system.rm_file(path)

        self._on(url, remove)

    def make_folder(self, url: str) -> None:
        """Creates a folder and its parents. Does nothing in object stores."""
        if _scheme(url) not in _OBJECT_STORES:
            self._on(url, lambda system, path: system.makedirs(path, exist_ok=True))

    def remove_folder(self, url: str) -> None:
        """Removes an empty folder, if it exists. Does nothing in object stores."""

        def remove(system: Any, path: str) -> None:
            with contextlib.suppress(FileNotFoundError):
                system.rmdir(path)

        if _scheme(url) not in _OBJECT_STORES:
            self._on(url, remove)

    def create(self, url: str) -> NewFile:
        """Creates a file, to be written in pieces."""
        opened = self._on(url, lambda system, path: system.open(path, "wb"))
        return NewFile(self, opened, lambda: self.remove(url))

    def open(self, url: str) -> OpenFile:
        """Opens a file for reading."""
        opened = self._on(url, lambda system, path: system.open(path, "rb"))
        return OpenFile(self, opened)

    def within_time(self, function: Callable[..., _Value], *arguments: Any) -> _Value:
        """Calls a function with the time-out of a request."""
        return self._calls.call(function, *arguments)

    def end_within(self, seconds: float) -> None:
        """Makes all requests, current and future, end within `seconds` from now."""
        self._calls.end_within(seconds)

    def _on(self, url: str, use: Callable[[Any, str], _Value]) -> _Value:
        system = self._system(url)

        def call() -> _Value:
            system.invalidate_cache()  # Other programs may have changed the files.
            return use(system, libraries.path_at(url))

        return self.within_time(call)

    def _system(self, url: str) -> Any:
        key = _scheme(url), url.split("/")[2]
        with self._lock:
            if key not in self._systems:
                self._systems[key] = self.within_time(libraries.find, url)
            return self._systems[key]


class NewFile:
    """A file being written. Its methods block and raise as those of `RemoteFiles` do.

    Args:
        files: The `RemoteFiles` that makes the requests.
        opened: The file object of the URL's library.
        remove: A function that removes the parts of the file that were written.
    """

    def __init__(
        self, files: RemoteFiles, opened: Any, remove: Callable[[], None]
    ) -> None:
        self._files = files
        self._opened = opened
        self._remove = remove
        self._is_finished = False

    def append(self, contents: bytes) -> None:
        """Appends bytes."""
        self._files.within_time(self._opened.write, contents)

    def finish(self) -> None:
        """Completes the file: no bytes can be appended any more."""
        self._files.within_time(self._opened.close)
        self._is_finished = True

    def release(self) -> None:
        """Aborts writing and removes the file, unless `finish` has completed it."""
        if not self._is_finished:
            self._files.within_time(_discard, self._opened)
            self._remove()


class OpenFile:
    """A file being read. Its methods block and raise as those of `RemoteFiles` do."""

    def __init__(self, files: RemoteFiles, opened: Any) -> None:
        self._files = files
        self._opened = opened

    def read(self, size: int) -> bytes:
        """Returns up to `size` further bytes; empty bytes at the end of the file."""
        return self._files.within_time(self._opened.read, size)

    def release(self) -> None:
        """Closes the file."""
        self._files.within_time(self._opened.close)


def _discard(opened: Any) -> None:
    # Abort the upload, so that no file is created from its parts.
    with contextlib.suppress(Exception):
        opened.discard()
    # Mark the object as closed: otherwise its destructor would complete the file.
    with contextlib.suppress(AttributeError):
        opened.closed = True


def _scheme(url: str) -> str:
    return url.split("://", 1)[0].lower()
