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

# The time-out of a request, including retries by its library. A request transfers at
# most some megabytes.
_SECONDS = 120.0

# Schemes of object stores. There, a folder exists as soon as it contains an object,
# creating one could create a bucket, and writing an object is atomic. Other schemes
# have real folders, and files are written atomically by renaming them.
_OBJECT_STORES = {"abfs", "abfss", "az", "gcs", "gs", "oci", "oss", "r2", "s3", "s3a"}


class RemoteFiles:
    """Accesses files at URLs, for the native core and for commands. Thread-safe.

    Every method blocks for at most the given time, and raises what the URL's library
    raises, or TimeoutError.

    Args:
        seconds: The time-out of each method, in seconds.
    """

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._calls = TimedCalls(seconds)
        self._lock = threading.Lock()
        self._systems: dict[tuple[str, str], Any] = {}  # Guarded by _lock.

    @staticmethod
    @functools.cache
    def shared() -> RemoteFiles:
        """Returns the instance that all of this process shares."""
        return RemoteFiles()

    def check(self, url: str) -> None:
        """Finds the URL's library. Makes no request.

        Raises:
            FailedPreconditionError: if the library for the URL is not installed.
            InvalidArgumentError: if no library supports the URL.
        """
        self._system(url)

    def names(self, url: str) -> list[str]:
        """Lists the names in a folder."""

        def names(system: Any, path: str) -> list[str]:
            found = {name.rstrip("/") for name in system.ls(path, detail=False)}
            # A bucket may contain an object that represents the folder itself.
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
            system.invalidate_cache()  # Other programs write there too.
            return use(system, system._strip_protocol(url))

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
        files: Makes the requests.
        opened: The library's file object.
        remove: Removes the parts of the file that were written.
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
        """Completes the file."""
        self._files.within_time(self._opened.close)
        self._is_finished = True

    def release(self) -> None:
        """Discards the file and removes it, unless it is finished."""
        if not self._is_finished:
            self._files.within_time(_discard, self._opened)
            self._remove()


class OpenFile:
    """A file being read. Its methods block and raise as those of `RemoteFiles` do."""

    def __init__(self, files: RemoteFiles, opened: Any) -> None:
        self._files = files
        self._opened = opened

    def read(self, size: int) -> bytes:
        """Reads up to `size` further bytes; returns none at the end of the file."""
        return self._files.within_time(self._opened.read, size)

    def release(self) -> None:
        """Closes the file."""
        self._files.within_time(self._opened.close)


def _discard(opened: Any) -> None:
    # Aborts an upload, so that it never becomes a file.
    with contextlib.suppress(Exception):
        opened.discard()
    # Otherwise the destructor would complete the file.
    with contextlib.suppress(AttributeError):
        opened.closed = True


def _scheme(url: str) -> str:
    return url.split("://", 1)[0].lower()
