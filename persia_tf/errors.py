"""Errors of persia_tf: one class a cause that a program may want to handle.

Each is a `PersiaError` with the status code of the native core (the numbers are
gRPC's), and also the built-in exception that means the same, if there is one.
"""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InvalidArgumentError",
    "LibraryLoadError",
    "NotFoundError",
    "PermissionDeniedError",
    "PersiaError",
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
        code: The status code, if it is not the one of the class.

    Attributes:
        code: The status code: gRPC's numbers, such as 4 for a deadline that passed.
    """

    code = 13  # Internal.

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class InvalidArgumentError(PersiaError, ValueError):
    """An argument breaks a rule."""

    code = 3


class DeadlineExceededError(PersiaError, TimeoutError):
    """No answer came in time."""

    code = 4


class NotFoundError(PersiaError, LookupError):
    """What was named does not exist."""

    code = 5


class AlreadyExistsError(PersiaError):
    """What was to be made exists already, with other settings."""

    code = 6


class PermissionDeniedError(PersiaError, PermissionError):
    """A token that is not the other end's."""

    code = 7


class FailedPreconditionError(PersiaError):
    """The system is not in the state that the call needs."""

    code = 9


class UnavailableError(PersiaError, ConnectionError):
    """A shard cannot be reached, or an address cannot be listened on."""

    code = 14


class DataLossError(PersiaError):
    """Stored or received data is damaged."""

    code = 15


class UnauthenticatedError(PersiaError):
    """One end of a connection has a token, and the other has none."""

    code = 16


class LibraryLoadError(FailedPreconditionError, ImportError):
    """The native library is missing, or is not the one that belongs here."""


_BY_CODE = {
    error.code: error
    for error in (
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        FailedPreconditionError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}


def from_code(code: int, message: str) -> PersiaError:
    """Makes the error that stands for a status code.

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
