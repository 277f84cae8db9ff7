"""Errors of persia_tf: one class per cause that a program may want to handle.

Each class is a `PersiaError` with the native core's status code (the numbers are
gRPC's). It also derives from the built-in exception of the same meaning, if there is
one.
"""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InterruptedExportError",
    "InvalidArgumentError",
    "LibraryLoadError",
    "NotFoundError",
    "PermissionDeniedError",
    "PersiaError",
    "SlotsMovedError",
    "UnauthenticatedError",
    "UnavailableError",
]


class PersiaError(RuntimeError):
    """A failure reported by persia_tf.

    Example:

    >>> try:
    ...     ptf.Table("user").lookup([3])
    ... except ptf.errors.PersiaError as error:
    ...     print(error.code, error)

    Args:
        message: What failed, and what to do about it.
        code: The status code. Defaults to the class's code.

    Attributes:
        code: The status code, numbered as in gRPC: for example, 4 means that a
            deadline was exceeded.
    """

    code = 13  # gRPC's code for internal errors.

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class InvalidArgumentError(PersiaError, ValueError):
    """An argument is not valid."""

    code = 3


class DeadlineExceededError(PersiaError, TimeoutError):
    """A server's answer did not arrive in time."""

    code = 4


class NotFoundError(PersiaError, LookupError):
    """An object that the call names, such as a table, does not exist."""

    code = 5


class AlreadyExistsError(PersiaError):
    """The object to create, such as a table, already exists with other settings."""

    code = 6


class PermissionDeniedError(PersiaError, PermissionError):
    """The two ends of a connection have different tokens."""

    code = 7


class FailedPreconditionError(PersiaError):
    """The present state of, for example, a table or a server forbids the call."""

    code = 9


class SlotsMovedError(FailedPreconditionError):
    """Slots moved from shard to shard during the call: call again."""

    code = 10


class InterruptedExportError(FailedPreconditionError):
    """The rows of a table moved to other shards while they were exported.

    What was exported may lack rows, or have some twice: export again.
    """


class UnavailableError(PersiaError, ConnectionError):
    """A shard cannot be reached, or a server cannot listen on its address."""

    code = 14


class DataLossError(PersiaError):
    """Stored or received data is damaged."""

    code = 15


class UnauthenticatedError(PersiaError):
    """One end of a connection has a token, and the other has none."""

    code = 16


class LibraryLoadError(FailedPreconditionError, ImportError):
    """The native library is missing, does not load, or has another version."""


_BY_CODE = {
    error.code: error
    for error in (
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        FailedPreconditionError,
        SlotsMovedError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}


def from_code(code: int, message: str) -> PersiaError:
    """Creates the error for a status code.

    Example:

    >>> raise from_code(4, "shard 127.0.0.1:7000 did not answer in 5 s")

    Args:
        code: A status code other than 0.
        message: The error's message.

    Returns:
        An instance of the code's class, or of `PersiaError` for a code that has
        no class of its own.
    """
    return _BY_CODE.get(code, PersiaError)(message, code)
