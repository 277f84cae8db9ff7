"""Serves gRPC calls with limits on the time and the size of their requests.

By default, gRPC's Python server blocks a thread until a call's request has arrived,
without a time limit unless the client has set a deadline. On the wire, a call with one
request is a stream of one request. So this module serves each call as a stream, whose
handler waits for the request for a limited time.

By default, gRPC also decodes requests on the thread that reads all connections, and
reports the same status for all requests that it cannot decode. So this module makes
gRPC pass requests as bytes, and the call's own thread checks and decodes them.
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
from persia_tf.model_server import codes
from persia_tf.model_server.poller import Poller
from persia_tf.model_server.shown import clipped

_LOOK_SECONDS = 0.25

# Checks a request. Takes the full name of the called method and the encoded request;
# raises a PersiaError to refuse the request.
Check = Callable[[str, bytes], None]


class ArrivingCalls:
    """Wraps the handlers of a gRPC server, to limit the time and size of requests.

    Add handlers to this object instead of to the server.

    Args:
        server: The server that receives the wrapped handlers. It must not have started
            yet.
        seconds: How long the request of a call may take to arrive.
        check: Called with the full name of a call's method and the encoded request,
            before the request is decoded. Raises a PersiaError to refuse the request.
    """

    def __init__(self, server: grpc.Server, seconds: float, check: Check) -> None:
        self._server = server
        self._seconds = seconds
        self._check = check
        self._lock = threading.Lock()
        self._waiting: dict[Any, float] = {}
        self._began: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()
        self._poller = Poller(
            self._cancel_late, "check for late calls", min(_LOOK_SECONDS, seconds)
        )

    def add_generic_rpc_handlers(
        self, handlers: Sequence[grpc.GenericRpcHandler]
    ) -> None:
        """Adds the wrapped handlers: see `grpc.Server.add_generic_rpc_handlers`."""
        self._server.add_generic_rpc_handlers(
            [_Handlers(each, self._wait, self._check) for each in handlers]
        )

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler]
    ) -> None:
        """Does nothing: callers add the same methods by `add_generic_rpc_handlers`."""

    def began(self, context: grpc.ServicerContext) -> float:
        """Returns the time at which a call began, before its request arrived.

        Args:
            context: The context that the call's method received.

        Returns:
            The time on `time.monotonic()`'s clock.
        """
        with self._lock:
            return self._began[context]

    def close(self, seconds: float) -> None:
        """Stops cancelling calls whose requests do not arrive in time.

        Args:
            seconds: The longest wait for a cancellation in progress.
        """
        self._poller.stop(seconds)

    @contextlib.contextmanager
    def _wait(self, context: grpc.ServicerContext) -> Iterator[None]:
        """Cancels a call if the `with` block takes longer than the time limit."""
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

# Waits for the request of a call, and returns the decoded request.
_Take = Callable[[Iterator[bytes], grpc.ServicerContext], Any]


class _Handlers(grpc.GenericRpcHandler):
    """Handlers that serve a call with one request as a stream of one request."""

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
        except Exception:  # Each protobuf implementation raises its own class.
            code = errors.InvalidArgumentError.code
            told = f"the request is not the message that {method} takes"
        context.abort(codes.GRPC[code], clipped(told))

    return decode
