"""Health checks by gRPC's protocol grpc.health.v1, without generated code.

The protocol's request is a single string, and its response a single enumeration. So
this module encodes and decodes their bytes itself, without a protocol buffer package.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import grpc

PS_SERVICE = "persia.PS"
WORKER_SERVICE = "persia.Worker"

# The maximum number of Watch calls at a time. Each Watch call occupies a thread of the
# server's pool until the call ends.
MAX_WATCHES = 16

# The number of threads in the server's pool for Check calls, in addition to the threads
# for Watch calls.
CHECK_THREADS = 4

# The possible responses, encoded as HealthCheckResponse: field 1, a varint.
_SERVING = b"\x08\x01"
_NOT_SERVING = b"\x08\x02"
_SERVICE_UNKNOWN = b"\x08\x03"

# The first byte of an encoded HealthCheckRequest: the tag of field 1, a string.
_SERVICE_TAG = 0x0A


class Health:
    """The health of a process: serving or not serving.

    After `drain`, the state is always "not serving". All methods are thread-safe.

    Example:

    >>> health = Health(PS_SERVICE)
    >>> grpc_server.add_generic_rpc_handlers([health.handler()])

    Args:
        services: The service names whose health may be requested, in addition to the
            empty name.
        serving: Whether the initial state is "serving".
    """

    def __init__(self, *services: str, serving: bool = True) -> None:
        self._services = ("", *services)
        self._condition = threading.Condition()
        self._serving = serving
        self._draining = False
        self._closed = False
        self._watch_slots = threading.Semaphore(MAX_WATCHES)

    def handler(self) -> grpc.GenericRpcHandler:
        """Returns the gRPC handler that answers Check and Watch calls."""
        return grpc.method_handlers_generic_handler(
            "grpc.health.v1.Health",
            {
                "Check": grpc.unary_unary_rpc_method_handler(self._check),
                "Watch": grpc.unary_stream_rpc_method_handler(self._watch),
            },
        )

    def is_serving(self) -> bool:
        """Returns whether checks report that the server serves."""
        with self._condition:
            return self._serving

    def set_serving(self, serving: bool) -> None:
        """Sets whether the process is serving, and notifies Watch calls.

        After `drain`, the state remains "not serving".
        """
        with self._condition:
            self._serving = serving and not self._draining
            self._condition.notify_all()

    def drain(self) -> None:
        """Sets the state to "not serving" permanently, and notifies Watch calls."""
        with self._condition:
            self._draining = True
        self.set_serving(False)

    def close(self) -> None:
        """Ends every Watch call after the call has reported the last state."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _check(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        service = _requested_service(request, context)
        if service not in self._services:
            context.abort(
                grpc.StatusCode.NOT_FOUND,
                f"unknown service {service!r}; known services: {self._services}",
            )
        return self._state(service)

    def _watch(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        service = _requested_service(request, context)
        if not self._watch_slots.acquire(blocking=False):
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{MAX_WATCHES} watches are open, which is the limit; use Check",
            )
        if not context.add_callback(self._end_watch):
            self._watch_slots.release()
            return
        told = None
        while True:
            with self._condition:
                while (
                    self._state(service) == told
                    and context.is_active()
                    and not self._closed
                ):
                    self._condition.wait()
            state = self._state(service)
            if state == told or not context.is_active():
                return
            told = state
            yield state

    def _end_watch(self) -> None:
        self._watch_slots.release()
        with self._condition:
            self._condition.notify_all()

    def _state(self, service: str) -> bytes:
        if service not in self._services:
            return _SERVICE_UNKNOWN
        return _SERVING if self._serving else _NOT_SERVING


def _requested_service(request: bytes, context: grpc.ServicerContext) -> str:
    """Returns a request's service name; aborts the call if the request is malformed."""
    try:
        return _parse_request(request)
    except ValueError as error:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        raise


def _parse_request(request: bytes) -> str:
    """Returns the service name in a request, which has no other field.

    The name is empty if the request is empty.

    Raises:
        ValueError: if the request is malformed, or the name has more than 127 bytes.
    """
    if not request:
        return ""
    if (
        len(request) < 2
        or request[0] != _SERVICE_TAG
        or request[1] != len(request) - 2
        or request[1] >= 128
    ):
        raise ValueError(
            "the request must be a HealthCheckRequest whose service name has fewer "
            "than 128 bytes"
        )
    return request[2:].decode("utf-8")
