"""gRPC's status codes, which this library's errors have too, and their names."""

from __future__ import annotations

import grpc

from persia_tf import errors

GRPC = {code.value[0]: code for code in grpc.StatusCode}

OK = grpc.StatusCode.OK.value[0]
RESOURCE_EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED.value[0]
CANCELLED = grpc.StatusCode.CANCELLED.value[0]
DEADLINE_EXCEEDED = grpc.StatusCode.DEADLINE_EXCEEDED.value[0]
INTERNAL = grpc.StatusCode.INTERNAL.value[0]


def name(code: int) -> str:
    """Returns a code's name, such as "NOT_FOUND"."""
    return GRPC.get(code, grpc.StatusCode.UNKNOWN).name


def as_persia_error(error: BaseException) -> errors.PersiaError:
    """Returns a PersiaError unchanged; wraps any other error in a PersiaError."""
    if isinstance(error, errors.PersiaError):
        return error
    return errors.PersiaError(f"internal error: {error!r}")
