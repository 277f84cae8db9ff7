"""The ctypes callbacks through which the native core accesses files at URLs."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

from absl import logging

from persia_tf.files import failures
from persia_tf.files.remote import NewFile, OpenFile, RemoteFiles
from persia_tf.native import capi


class Callbacks:
    """Implements `persia_files`, the core's table of file callbacks.

    Args:
        files: The `RemoteFiles` that the callbacks use.
    """

    def __init__(self, files: RemoteFiles) -> None:
        self._files = files
        # This dict needs no lock: each access adds, finds or removes a single entry,
        # which is atomic.
        self._handles: dict[int, NewFile | OpenFile] = {}
        self._numbers = itertools.count(1)
        self._native = capi.Files(
            **{
                name: kind(_guarded(getattr(self, f"_{name}")))
                for name, kind in capi.Files._fields_
                if name != "release"
            },
            release=capi.ReleaseFile(self._release),
        )

    def register(self, library: ctypes.CDLL) -> None:
        """Registers the callbacks with the native core.

        This object must live until the process ends, since the core may call it.
        """
        library.persia_set_files(ctypes.byref(self._native))

    def _create(self, url: bytes, file: Any) -> None:
        file[0] = self._keep(self._files.create(url.decode()))

    def _append(self, file: int, contents: Any, size: int) -> None:
        self._handles[file].append(ctypes.string_at(contents, size))

    def _finish(self, file: int) -> None:
        self._handles[file].finish()

    def _open(self, url: bytes, file: Any) -> None:
        file[0] = self._keep(self._files.open(url.decode()))

    def _read(self, file: int, into: int, size: int, got: Any) -> None:
        contents = self._handles[file].read(size)
        ctypes.memmove(into, contents, len(contents))
        got[0] = len(contents)

    def _release(self, file: int) -> None:
        try:
            self._handles.pop(file).release()
        except Exception as error:
            logging.warning(
                "an unfinished remote file could not be removed, so parts of it may "
                "remain: %s",
                failures.text_of(error),
            )

    def _size(self, url: bytes, size: Any) -> None:
        size[0] = self._files.size(url.decode())

    def _write_whole(self, url: bytes, contents: Any, size: int) -> None:
        self._files.write_whole(url.decode(), ctypes.string_at(contents, size))

    def _remove(self, url: bytes) -> None:
        self._files.remove(url.decode())

    def _list(self, url: bytes, names: int) -> None:
        add = capi.library().persia_file_names_add
        try:
            for name in self._files.names(url.decode()):
                add(names, capi.utf8(name))
        except FileNotFoundError:
            pass  # A folder that does not exist has no names.

    def _make_folder(self, url: bytes) -> None:
        self._files.make_folder(url.decode())

    def _remove_folder(self, url: bytes) -> None:
        self._files.remove_folder(url.decode())

    def _keep(self, opened: NewFile | OpenFile) -> int:
        number = next(self._numbers)
        self._handles[number] = opened
        return number


def _guarded(work: Callable[..., None]) -> Callable[..., int]:
    """Wraps a callback so that it returns a status code instead of raising.

    ctypes would ignore an exception and return 0, which means success.
    """

    def call(*arguments: Any) -> int:
        *others, message = arguments
        try:
            work(*others)
        except BaseException as error:
            text = failures.text_of(error).encode("utf-8", "replace")
            text = text[: capi.FILE_MESSAGE_BYTES - 1] + b"\0"
            ctypes.memmove(message, text, len(text))
            return failures.code_of(error)
        return 0

    return call
