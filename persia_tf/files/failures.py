"""What file systems raise, as persia_tf tells it."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from persia_tf import errors

_RESOURCE_EXHAUSTED = 8

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def code_of(error: BaseException) -> int:
    """Returns the status code that stands for what a file system raised."""
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
    """Returns what it says, in one line."""
    if isinstance(error, errors.PersiaError):
        return str(error)
    # FileNotFoundError("bucket/key") and KeyError say too little without the class.
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextlib.contextmanager
def as_errors(action: str, path: str) -> Iterator[None]:
    """Raises a `PersiaError` that names the path for what is raised within."""
    try:
        yield
    except errors.PersiaError:
        raise
    except Exception as error:
        message = f"cannot {action} {path}: {text_of(error)}"
        raise errors.from_code(code_of(error), message) from error
