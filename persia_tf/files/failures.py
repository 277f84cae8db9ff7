"""Converts the exceptions of file systems to the errors of persia_tf."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from persia_tf import errors

_RESOURCE_EXHAUSTED = 8

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def code_of(error: BaseException) -> int:
    """Returns the status code for an exception of a file system."""
    if isinstance(error, errors.PersiaError):
        return error.code
    if isinstance(error, FileNotFoundError):
        return errors.NotFoundError.code
    if isinstance(error, FileExistsError):
        return errors.AlreadyExistsError.code
    if isinstance(error, MemoryError) or getattr(error, "errno", None) in _FULL:
        return _RESOURCE_EXHAUSTED
    return errors.UnavailableError.code


def text_of(error: BaseException) -> str:
    """Returns the class and the message of an exception, in one line."""
    if isinstance(error, errors.PersiaError):
        return str(error)
    # Include the class, since the text alone may not state the error: the text of
    # FileNotFoundError("bucket/key") is just the path.
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextlib.contextmanager
def as_errors(action: str, path: str) -> Iterator[None]:
    """Converts exceptions of its `with` block to a `PersiaError` naming the path."""
    try:
        yield
    except errors.PersiaError:
        raise
    except Exception as error:
        message = f"cannot {action} {path}: {text_of(error)}"
        raise errors.from_code(code_of(error), message) from error
