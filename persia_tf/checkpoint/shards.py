"""What shards can be asked about checkpoints."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Sequence
from typing import NamedTuple

from persia_tf import _native, errors
from persia_tf.session import Session

# States, as the core numbers them.
_IDLE, _RUNNING = 0, 1


class _Action(enum.IntEnum):
    """As the core numbers them."""

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
    """How far a shard is.

    Attributes:
        file: Its file in the folder.
        has_ended: Whether it has saved or restored, or failed to.
        error: Why it failed, or None.
        rows: Written or read so far.
        total_rows: How many a save will write, about; 0 of a restore.
        bytes: Written or read so far.
        base_id: The save that it can add an increment to; 0: none.
        need: The checkpoint that it needs to come back, or None.
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
    """That a shard needs the checkpoint which it restored, to come back if it ends.

    Attributes:
        shard: Its file in a checkpoint's folder, which names it.
        folder: The checkpoint.
        error: Why it could not write its rows to its log's folder so far, or None.
    """

    shard: str
    folder: str
    error: errors.PersiaError | None


class _Reply(NamedTuple):
    shards: list[Progress]
    names: list[str]
    contents: bytes


class Shards:
    """Asks the shards of a session. See `cc/service/checkpoint_request.h`.

    Every method blocks for at most the session's time-out, and raises a
    `PersiaError` that names the shard if it cannot be done.
    """

    def __init__(self, session: Session) -> None:
        self._key = _native.utf8(session.name)

    def save(self, folder: str, save_id: int, parent_id: int = 0) -> None:
        """Begins to save the rows as they are now, or what changed since a save."""
        self._ask(_Action.SAVE, save_id=save_id, parent_id=parent_id, folder=folder)

    def commit(self, folder: str, save_id: int, paths: Sequence[str]) -> None:
        """Says that a save is complete: its manifest is written.

        Args:
            folder: Where it is.
            save_id: Its number.
            paths: What `restore` would be given.
        """
        self._ask(_Action.COMMIT, save_id=save_id, folder=folder, files=paths)

    def base_ids(self) -> set[int]:
        """The save that each shard can add an increment to; 0: none."""
        return {shard.base_id for shard in self._ask(_Action.PROGRESS).shards}

    def restore(self, folder: str, save_id: int, paths: Sequence[str]) -> None:
        """Begins to read files: a checkpoint's, and before them its parents'."""
        self._ask(_Action.RESTORE, save_id=save_id, folder=folder, files=paths)

    def swap(self, save_id: int, generation: int) -> None:
        """Puts what was read in place."""
        self._ask(_Action.SWAP, save_id=save_id, generation=generation)

    def forget(self, save_id: int = 0) -> None:
        """Ends a save or restore and forgets it; 0: whichever was begun."""
        self._ask(_Action.FORGET, save_id=save_id)

    def progress(self) -> list[Progress]:
        """How far each shard is, in their order."""
        # Several embedding workers tell of the same shards.
        first: dict[str, Progress] = {}
        for shard in self._ask(_Action.PROGRESS).shards:
            first.setdefault(shard.file, shard)
        return list(first.values())

    def needs(self) -> list[Need]:
        """The shards that need a checkpoint which they restored."""
        progress = self._ask(_Action.PROGRESS).shards
        return [shard.need for shard in progress if shard.need is not None]

    def write_file(self, folder: str, name: str, contents: bytes) -> None:
        """Writes a small file, in one step."""
        self._ask(_Action.WRITE_FILE, folder=folder, files=[name], contents=contents)

    def read_file(self, folder: str, name: str) -> bytes:
        """Reads a small file."""
        return self._ask(_Action.READ_FILE, folder=folder, files=[name]).contents

    def list_folder(self, folder: str) -> list[str]:
        """Lists the names in a folder; none if it is not there."""
        return self._ask(_Action.LIST_FOLDER, folder=folder).names

    def remove_files(self, folder: str, names: Sequence[str]) -> None:
        """Removes files, and the folder if it is empty then."""
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
