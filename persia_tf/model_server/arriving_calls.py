"""Serves gRPC calls with limits for the time and the size of their requests.

gRPC waits for a request until the client's deadline, if it has one, and Python's server
holds a thread meanwhile. On the wire, a call with one request is a stream of one
request: so it is served as a stream whose handler waits for the request for a limited
time.

gRPC decodes requests on the thread that reads all connections, and knows only one
status for those that cannot be decoded. So it hands them over as bytes here, and the
call's own thread checks and decodes them.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Optional

import grpc

from persia_tf import errors
from persia_tf.model_server import status
from persia_tf.model_server.poller import Poller
from persia_tf.model_server.shown import clipped

_LOOK_SECONDS = 0.25

# Checks the message of a method, as the client sent it; raises a PersiaError to refuse
# it.
Check = Callable[[str, bytes], None]


class ArrivingCalls:
    """Wraps the handlers added to a server with limits for requests.

    Add handlers to this object instead of the server.

    Args:
        server: Gets the wrapped handlers; it must not have started yet.
        seconds: How long the request of a call may take to arrive.
        check: Called with the full name of a call's method and the request before that
            is decoded.
    """

    def __init__(self, server: grpc.Server, seconds: float, check: Check) -> None:
        self._server = server
        self._seconds = seconds
        self._check = check
        self._lock = threading.Lock()
        self._waiting: dict[Any, float] = {}
        self._began: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()
        self._poller = Poller(self._cancel_late, min(_LOOK_SECONDS, seconds))

    def add_generic_rpc_handlers(
        self, handlers: Sequence[grpc.GenericRpcHandler]
    ) -> None:
        """See `grpc.Server.add_generic_rpc_handlers`."""
        self._server.add_generic_rpc_handlers(
            [_Handlers(each, self._wait, self._check) for each in handlers]
        )

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler]
    ) -> None:
        """Does nothing: the generic handlers already serve these methods."""

    def began(self, context: grpc.ServicerContext) -> float:
        """Returns when a call began, before its request arrived.

        Args:
            context: The call's, as its method got it.

        Returns:
            The time on `time.monotonic()`'s clock.
        """
        with self._lock:
            return self._began[context]

    def close(self, seconds: float) -> None:
        """Stops cancelling late calls: those that still wait are no longer limited."""
        self._poller.stop(seconds)

    @contextlib.contextmanager
    def _wait(self, context: grpc.ServicerContext) -> Iterator[None]:
        """Cancels a call unless the block ends in time."""
        began = time.monotonic()
        with self._lock:
            self._began[context] = began
            self._waiting[context] = began + self._seconds
        try:
            yield
        finally:
            with self._lock:
                del self._waiting[context]

    def _cancel_late(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = [context for context, by in self._waiting.items() if by <= now]
        for context in late:
            context.cancel()


_Wait = Callable[[grpc.ServicerContext], contextlib.AbstractContextManager[None]]

# Returns the request of a call, once it has arrived.
_Take = Callable[[Iterator[bytes], grpc.ServicerContext], Any]


class _Handlers(grpc.GenericRpcHandler):
    """Handlers that serve calls as streams."""

    def __init__(
        self, handlers: grpc.GenericRpcHandler, wait: _Wait, check: Check
    ) -> None:
        self._handlers = handlers
        self._wait = wait
        self._check = check

    def service(
        self, details: grpc.HandlerCallDetails
    ) -> Optional[grpc.RpcMethodHandler]:  # noqa: UP045
        handler = self._handlers.service(details)
        if handler is None or handler.request_streaming:
            return handler
        decode = _decoder(details.method, self._check, handler.request_deserializer)

        def take(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            return decode(_arrived(requests, context, self._wait), context)

        serialize = handler.response_serializer
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(
                _several(handler.unary_stream, take), response_serializer=serialize
            )
        return grpc.stream_unary_rpc_method_handler(
            _one(handler.unary_unary, take), response_serializer=serialize
        )


def _one(method: Callable[[Any, Any], Any], take: _Take) -> Callable[..., Any]:
    def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
        return method(take(requests, context), context)

    return answer


def _several(
    method: Callable[[Any, Any], Iterator[Any]], take: _Take
) -> Callable[..., Iterator[Any]]:
    def answer(
        requests: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[Any]:
        yield from method(take(requests, context), context)

    return answer


def _arrived(
    requests: Iterator[bytes], context: grpc.ServicerContext, wait: _Wait
) -> bytes:
    with wait(context):
        for request in requests:
            return request
    context.abort(grpc.StatusCode.CANCELLED, "the request did not arrive")


def _decoder(
    method: str, check: Check, deserialize: Callable[[bytes], Any] | None
) -> Callable[[bytes, grpc.ServicerContext], Any]:
    def decode(message: bytes, context: grpc.ServicerContext) -> Any:
        try:
            check(method, message)
            return message if deserialize is None else deserialize(message)
        except errors.PersiaError as error:
            code, told = error.code, str(error)
        except Exception:  # Each implementation of protobuf has its own.
            code = errors.InvalidArgumentError.code
            told = f"the request is not the message that {method} takes"
        context.abort(status.GRPC[code], clipped(told))

    return decode
