"""Sends shards requests about checkpoints, and about the files of checkpoints."""

from __future__ import annotations

import ctypes
import enum
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from persia_tf import errors
from persia_tf.client.session import Session
from persia_tf.native import capi

# States of a save or restore on a shard, numbered as in the native core.
_IDLE, _RUNNING = 0, 1


class _Action(enum.IntEnum):
    """The kinds of requests about checkpoints, numbered as in the native core."""

    SAVE = 1
    RESTORE = 2
    PROGRESS = 3
    SWAP = 4
    FORGET = 5
    COMMIT = 6


class _FilesAction(enum.IntEnum):
    """The kinds of requests about files, numbered as in the native core."""

    WRITE = 1
    READ = 2
    LIST = 3
    REMOVE = 4


class Progress(NamedTuple):
    """A shard's progress in saving or restoring.

    Attributes:
        file: The name of the shard's file in the checkpoint's folder.
        is_idle: Whether the shard has no record of the save or restore.
        has_ended: Whether the shard has finished, or failed.
        error: Why the shard failed to save or restore; None if it did not fail.
        rows: Rows written or read so far.
        total_rows: For a save, approximately how many rows it will write; for a
            restore, 0.
        bytes: Bytes written or read so far.
        base_id: The `save_id` of the checkpoint to which the shard can add an
            increment; 0 if there is none.
        slots: The slots whose rows the shard saves or replaces; if it is idle, the
            slots that it owns. An integer with a bit for each slot, lowest bits first.
        need: The checkpoint that the shard needs to recover after a crash, or None.
    """

    file: str
    is_idle: bool
    has_ended: bool
    error: errors.PersiaError | None
    rows: int
    total_rows: int
    bytes: int
    base_id: int
    slots: int
    need: Need | None


class Need(NamedTuple):
    """A restored checkpoint that a shard needs to recover after a crash.

    Attributes:
        shard: The name of the shard's file in a checkpoint, which identifies the shard.
        folder: The checkpoint's folder.
        error: Why the shard's last attempt to write the rows to its recovery folder
            failed, or None.
    """

    shard: str
    folder: str
    error: errors.PersiaError | None


class _FilesReply(NamedTuple):
    names: list[str]
    contents: bytes


class Shards:
    """Sends the shards of a session requests about checkpoints and their files.

    `cc/service/checkpoint_request.h` and `files_request.h` describe the requests.

    Every method blocks for at most the session's time-out. On failure, it raises a
    `PersiaError` that names the shard.
    """

    def __init__(self, session: Session) -> None:
        self._key = capi.utf8(session.name)

    def save(self, folder: str, save_id: int, parent_id: int = 0) -> None:
        """Makes all shards begin to save their rows as they are now.

        If `parent_id` is not 0, the shards save only what changed since the save with
        that id.
        """
        self._ask(_Action.SAVE, save_id=save_id, parent_id=parent_id, folder=folder)

    def commit(self, folder: str, save_id: int, paths: Sequence[str]) -> None:
        """Tells the shards that a save is complete: its manifest is written.

        Args:
            folder: The checkpoint's folder.
            save_id: The checkpoint's number.
            paths: The files from which a restarted shard restores the checkpoint: see
                `restore`.
        """
        self._ask(_Action.COMMIT, save_id=save_id, folder=folder, files=paths)

    def base_ids(self) -> set[int]:
        """Returns the ids of the saves that an increment can add to; 0 means none."""
        return {shard.base_id for shard in self._ask(_Action.PROGRESS)}

    def restore(self, folder: str, save_id: int, paths: Sequence[str]) -> None:
        """Makes shards begin to read a checkpoint's files, its parents' files first."""
        self._ask(_Action.RESTORE, save_id=save_id, folder=folder, files=paths)

    def swap(self, save_id: int, generation: int) -> None:
        """Makes shards replace their rows with the rows read for `restore`."""
        self._ask(_Action.SWAP, save_id=save_id, generation=generation)

    def forget(self, save_id: int = 0) -> None:
        """Makes shards discard a save or restore, and cancel it if it still runs.

        If `save_id` is 0, the shards discard any save or restore.
        """
        self._ask(_Action.FORGET, save_id=save_id)

    def progress(self, save_id: int = 0) -> list[Progress]:
        """Returns the progress of each shard, in the order of the shards.

        Args:
            save_id: Of which save or restore; 0 for that which each shard began last. A
                shard may have another one's record, if it has just joined the cluster.
        """
        # Several embedding workers may report the same shard: use its first report.
        first: dict[str, Progress] = {}
        for shard in self._ask(_Action.PROGRESS, save_id=save_id):
            first.setdefault(shard.file, shard)
        return list(first.values())

    def needs(self) -> list[Need]:
        """Returns a `Need` for each shard that needs a checkpoint for its recovery."""
        progress = self._ask(_Action.PROGRESS)
        return [shard.need for shard in progress if shard.need is not None]

    def write_file(self, folder: str, name: str, contents: bytes) -> None:
        """Writes a small file atomically."""
        self._ask_files(_FilesAction.WRITE, folder, [name], contents)

    def read_file(self, folder: str, name: str) -> bytes:
        """Returns the contents of a small file."""
        return self._ask_files(_FilesAction.READ, folder, [name]).contents

    def list_folder(self, folder: str) -> list[str]:
        """Returns the names in a folder; an empty list if the folder is missing."""
        return self._ask_files(_FilesAction.LIST, folder).names

    def remove_files(self, folder: str, names: Sequence[str]) -> None:
        """Removes files, and their folder if that leaves it empty."""
        self._ask_files(_FilesAction.REMOVE, folder, names)

    def _ask(
        self,
        action: _Action,
        folder: str = "",
        files: Sequence[str] = (),
        **numbers: int,
    ) -> list[Progress]:
        library = capi.library()
        return self._send(
            library.persia_session_checkpoint,
            capi.CheckpointRequest(action, **_texts(folder, files), **numbers),
            capi.CheckpointReplyHandle(),
            _read_progress,
            library.persia_checkpoint_free,
        )

    def _ask_files(
        self,
        action: _FilesAction,
        folder: str,
        files: Sequence[str] = (),
        contents: bytes = b"",
    ) -> _FilesReply:
        library = capi.library()
        texts = _texts(folder, files)
        return self._send(
            library.persia_session_files,
            capi.FilesRequest(
                action, **texts, contents=contents, contents_size=len(contents)
            ),
            capi.FilesReplyHandle(),
            _read_files,
            library.persia_files_free,
        )

    def _send(self, call, request, handle, read, free):
        """Sends `request`, and returns the reply, which `read` converts to Python."""
        call(self._key, ctypes.byref(request), ctypes.byref(handle))
        try:
            return read(handle)
        finally:
            free(handle)


def _texts(folder: str, files: Sequence[str]) -> dict[str, Any]:
    return {
        "folder": capi.utf8(folder),
        "files": (ctypes.c_char_p * len(files))(*map(capi.utf8, files)),
        "file_count": len(files),
    }


def _read_progress(handle: capi.CheckpointReplyHandle) -> list[Progress]:
    library = capi.library()
    shards = []
    for index in range(library.persia_checkpoint_shards(handle)):
        progress = capi.CheckpointProgress()
        library.persia_checkpoint_shard(handle, index, ctypes.byref(progress))
        shards.append(_progress_of(progress))
    return shards


def _read_files(handle: capi.FilesReplyHandle) -> _FilesReply:
    library = capi.library()
    names = [
        library.persia_files_name(handle, index).decode()
        for index in range(library.persia_files_names(handle))
    ]
    size = ctypes.c_uint64()
    contents = library.persia_files_contents(handle, ctypes.byref(size))
    return _FilesReply(names, ctypes.string_at(contents, size.value))


def _progress_of(native: capi.CheckpointProgress) -> Progress:
    error = None
    file = native.file.decode()
    if native.state == _IDLE:
        error = errors.UnavailableError(
            "a shard no longer has any record of this save or restore: the shard was "
            "restarted, or was told to forget it. Try again."
        )
    elif native.code:
        message = native.message.decode("utf-8", "replace")
        error = errors.from_code(native.code, f"{file}: {message}")
    return Progress(
        file=file,
        is_idle=native.state == _IDLE,
        has_ended=native.state != _RUNNING,
        error=error,
        rows=native.rows,
        total_rows=native.total_rows,
        bytes=native.bytes,
        base_id=native.base_id,
        slots=int.from_bytes(bytes(native.slots), sys.byteorder),
        need=_need_of(file, native),
    )


def _need_of(file: str, native: capi.CheckpointProgress) -> Need | None:
    folder = native.needed.decode("utf-8", "replace")
    if not folder:
        return None
    error = None
    if native.base_code:
        message = native.base_message.decode("utf-8", "replace")
        error = errors.from_code(
            native.base_code,
            f"{file}: checkpoint {folder} was restored, but the shard could not write "
            f"the restored rows to its recovery folder: {message}. The shard tries "
            "again every 30 seconds. Keep the checkpoint until then, since the shard "
            "needs it to recover; or restore the checkpoint once more",
        )
    return Need(file, folder, error)
