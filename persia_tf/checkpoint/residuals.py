"""Saves and restores what error feedback keeps of this program's gradients.

With `wire_dtype="int4"`, a program keeps what the encoding of its gradients has lost,
to add it to later gradients: the residuals. They are state of the training, like rows,
so a checkpoint has files of them. `cc/pipeline/residual_files.h` describes the files.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

from absl import logging

from persia_tf import errors
from persia_tf.checkpoint.folders import Files
from persia_tf.native import capi

if TYPE_CHECKING:
    from persia_tf.client.session import Session

FEEDBACK_DTYPE = "int4"


def copied(session: Session) -> list[bytes]:
    """Returns the contents of the files that hold a session's residuals now.

    Args:
        session: The session, which must have been flushed.
    """
    library, handle = capi.library(), capi.ResidualsHandle()
    library.persia_session_save_residuals(capi.utf8(session.name), ctypes.byref(handle))
    try:
        return [
            _file(handle, index)
            for index in range(library.persia_residuals_files(handle))
        ]
    finally:
        library.persia_residuals_free(handle)


def _file(handle: capi.ResidualsHandle, index: int) -> bytes:
    size = ctypes.c_uint64()
    contents = capi.library().persia_residuals_file(handle, index, ctypes.byref(size))
    return ctypes.string_at(contents, size.value)


def write(files: Files, folder: str, contents: Sequence[bytes]) -> tuple[str, ...]:
    """Writes files of residuals to a checkpoint's folder; returns their names."""
    count = len(contents)
    names = tuple(f"residuals-{i:05d}-of-{count:05d}" for i in range(count))
    for name, content in zip(names, contents):
        files.write_file(folder, name, content)
    return names


def restore(
    session: Session,
    files: Files,
    folder: str,
    names: Sequence[str],
    generation: int,
) -> None:
    """Replaces a session's residuals by those of a checkpoint.

    Call this just before the shards replace their rows: if a file is damaged or
    missing, nothing has changed yet.

    Args:
        session: The session. If it does not use error feedback, the residuals are not
            used, with a warning in the log.
        files: Reads the files.
        folder: The checkpoint's folder.
        names: The names of the files of residuals, which may be none.
        generation: The generation that the restored rows will have.

    Raises:
        DataLossError: if a file is damaged.
        PersiaError: if a file cannot be read.
    """
    contents = [files.read_file(folder, name) for name in names]
    if contents and session.wire_dtype != FEEDBACK_DTYPE:
        logging.warning(
            "%s was saved by a program with wire_dtype=%r. What that program's "
            "gradients had yet to send, at most half a step of the dtype for each "
            "number, is not used, since this program has wire_dtype=%r.",
            *(folder, FEEDBACK_DTYPE, session.wire_dtype),
        )
    capi.library().persia_session_restore_residuals(
        capi.utf8(session.name), *_array(contents), generation
    )


def verify(files: Files, folder: str, names: Sequence[str]) -> int:
    """Reads a checkpoint's files of residuals; returns how many ids they have.

    Args:
        files: Reads the files.
        folder: The checkpoint's folder.
        names: The names of the files of residuals, which may be none.

    Raises:
        DataLossError: if a file is damaged.
        PersiaError: if a file cannot be read.
    """
    contents = [files.read_file(folder, name) for name in names]
    ids = ctypes.c_uint64()
    try:
        capi.library().persia_residuals_count(*_array(contents), ctypes.byref(ids))
    except errors.DataLossError as error:
        raise errors.DataLossError(f"{folder}: {error}") from None
    return ids.value


def _array(
    contents: Sequence[bytes],
) -> tuple[ctypes.Array[ctypes.c_char_p], ctypes.Array[ctypes.c_uint64], int]:
    """Returns the contents of files, their sizes and their number, for the C API."""
    count = len(contents)
    return (
        (ctypes.c_char_p * count)(*contents),
        (ctypes.c_uint64 * count)(*map(len, contents)),
        count,
    )
