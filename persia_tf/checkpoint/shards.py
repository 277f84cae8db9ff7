"""The requests about checkpoints that shards answer."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Sequence
from typing import NamedTuple

from persia_tf import _native, errors
from persia_tf.session import Session

# States, numbered as in the native core.
_IDLE, _RUNNING = 0, 1


class _Action(enum.IntEnum):
    """The kinds of requests, numbered as in the native core."""

    SAVE = 1
    RESTORE = 2
    PROGRESS = 3
    SWAP = 4
    FORGET = 5
    COMMIT = 6
    WRITE_FILE = 7
    READ_FILE = 8
    LIST_FOLDER = 9
    REMOVE_FILES = 10


class Progress(NamedTuple):
    """A shard's progress in saving or restoring.

    Attributes:
        file: The name of the shard's file in the checkpoint's folder.
        has_ended: Whether the shard has finished, or failed.
        error: Why it failed, or None.
        rows: Rows written or read so far.
        total_rows: For a save, approximately how many rows it will write; for a
            restore, 0.
        bytes: Bytes written or read so far.
        base_id: The save that the shard can add an increment to; 0 if there is none.
        need: The checkpoint that the shard needs to recover after a crash, or None.
    """

    file: str
    has_ended: bool
    error: errors.PersiaError | None
    rows: int
    total_rows: int
    bytes: int
    base_id: int
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


class _Reply(NamedTuple):
    shards: list[Progress]
    names: list[str]
    contents: bytes


class Shards:
    """Sends the shards of a session requests: see `cc/service/checkpoint_request.h`.

    Every method blocks for at most the session's time-out. On failure, it raises a
    `PersiaError` that names the shard.
    """

    def __init__(self, session: Session) -> None:
        self._key = _native.utf8(session.name)

    def save(self, folder: str, save_id: int, parent_id: int = 0) -> None:
        """Begins to save the rows as they are now.

        If `parent_id` is not 0, only what changed since that save.
        """
        self._ask(_Action.SAVE, save_id=save_id, parent_id=parent_id, folder=folder)

    def commit(self, folder: str, save_id: int, paths: Sequence[str]) -> None:
        """Tells the shards that a save is complete: its manifest is written.

        Args:
            folder: The checkpoint's folder.
            save_id: The checkpoint's number.
            paths: The files that restore the checkpoint, as for `restore`.
        """
        self._ask(_Action.COMMIT, save_id=save_id, folder=folder, files=paths)

    def base_ids(self) -> set[int]:
        """Returns the saves that shards can add an increment to; 0 stands for none."""
        return {shard.base_id for shard in self._ask(_Action.PROGRESS).shards}

    def restore(self, folder: str, save_id: int, paths: Sequence[str]) -> None:
        """Begins to read files: those of a checkpoint, preceded by its parents'."""
        self._ask(_Action.RESTORE, save_id=save_id, folder=folder, files=paths)

    def swap(self, save_id: int, generation: int) -> None:
        """Replaces the rows of the shards by those that were read."""
        self._ask(_Action.SWAP, save_id=save_id, generation=generation)

    def forget(self, save_id: int = 0) -> None:
        """Ends a save or restore and forgets it; 0: whichever the shard works on."""
        self._ask(_Action.FORGET, save_id=save_id)

    def progress(self) -> list[Progress]:
        """Returns the progress of each shard, in the order of the shards."""
        # Several embedding workers report the same shards.
        first: dict[str, Progress] = {}
        for shard in self._ask(_Action.PROGRESS).shards:
            first.setdefault(shard.file, shard)
        return list(first.values())

    def needs(self) -> list[Need]:
        """Returns a `Need` for each shard that needs the checkpoint it restored."""
        progress = self._ask(_Action.PROGRESS).shards
        return [shard.need for shard in progress if shard.need is not None]

    def write_file(self, folder: str, name: str, contents: bytes) -> None:
        """Writes a small file atomically."""
        self._ask(_Action.WRITE_FILE, folder=folder, files=[name], contents=contents)

    def read_file(self, folder: str, name: str) -> bytes:
        """Reads a small file."""
        return self._ask(_Action.READ_FILE, folder=folder, files=[name]).contents

    def list_folder(self, folder: str) -> list[str]:
        """Lists the names in a folder; empty if there is no such folder."""
        return self._ask(_Action.LIST_FOLDER, folder=folder).names

    def remove_files(self, folder: str, names: Sequence[str]) -> None:
        """Removes files, and the folder if it is then empty."""
        self._ask(_Action.REMOVE_FILES, folder=folder, files=names)

    def _ask(
        self,
        action: _Action,
        *,
        save_id: int = 0,
        parent_id: int = 0,
        generation: int = 0,
        folder: str = "",
        files: Sequence[str] = (),
        contents: bytes = b"",
    ) -> _Reply:
        texts = (ctypes.c_char_p * len(files))(*map(_native.utf8, files))
        request = _native.CheckpointRequest(
            action=action,
            save_id=save_id,
            parent_id=parent_id,
            generation=generation,
            folder=_native.utf8(folder),
            files=texts,
            file_count=len(files),
            contents=contents,
            contents_size=len(contents),
        )
        handle = _native.CheckpointReplyHandle()
        library = _native.library()
        library.persia_session_checkpoint(
            self._key, ctypes.byref(request), ctypes.byref(handle)
        )
        try:
            return _read(handle)
        finally:
            library.persia_checkpoint_free(handle)


def _read(handle: _native.CheckpointReplyHandle) -> _Reply:
    library = _native.library()
    shards = []
    for index in range(library.persia_checkpoint_shards(handle)):
        progress = _native.CheckpointProgress()
        library.persia_checkpoint_shard(handle, index, ctypes.byref(progress))
        shards.append(_progress_of(progress))
    names = [
        library.persia_checkpoint_name(handle, index).decode()
        for index in range(library.persia_checkpoint_names(handle))
    ]
    size = ctypes.c_uint64()
    contents = library.persia_checkpoint_contents(handle, ctypes.byref(size))
    return _Reply(shards, names, ctypes.string_at(contents, size.value))


def _progress_of(native: _native.CheckpointProgress) -> Progress:
    error = None
    file = native.file.decode()
    if native.state == _IDLE:
        error = errors.UnavailableError(
            "a shard knows nothing of it any more: it was restarted meanwhile, or told "
            "to forget it. Try again."
        )
    elif native.code:
        message = native.message.decode("utf-8", "replace")
        error = errors.from_code(native.code, f"{file}: {message}")
    return Progress(
        file=file,
        has_ended=native.state != _RUNNING,
        error=error,
        rows=native.rows,
        total_rows=native.total_rows,
        bytes=native.bytes,
        base_id=native.base_id,
        need=_need_of(file, native),
    )


def _need_of(file: str, native: _native.CheckpointProgress) -> Need | None:
    folder = native.needed.decode("utf-8", "replace")
    if not folder:
        return None
    error = None
    if native.base_code:
        message = native.base_message.decode("utf-8", "replace")
        error = errors.from_code(
            native.base_code,
            f"{file}: checkpoint {folder} was restored, but its rows could not be "
            f"written to the recovery folder: {message}. The shard tries again every "
            "30 seconds; keep the checkpoint, which it needs to come back until then, "
            "or restore it once more",
        )
    return Need(file, folder, error)
