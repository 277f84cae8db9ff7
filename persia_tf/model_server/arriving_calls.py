"""Serves gRPC calls with a time limit for the arrival of their requests.

gRPC waits for a request until the client's deadline, if it has one, and Python's server
holds a thread meanwhile. On the wire, a call with one request is a stream of one
request: so it is served as a stream whose handler waits for the request for a limited
time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Optional

import grpc

from persia_tf.model_server.poller import Poller

_LOOK_SECONDS = 0.25


class ArrivingCalls:
    """Wraps the handlers added to a server with a time limit for requests.

    Add handlers to this object instead of the server.

    Args:
        server: Gets the wrapped handlers; it must not have started yet.
        seconds: How long the request of a call may take to arrive.
    """

    def __init__(self, server: grpc.Server, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        self._lock = threading.Lock()
        self._waiting: dict[Any, float] = {}
        self._poller = Poller(self._cancel_late, min(_LOOK_SECONDS, seconds))

    def add_generic_rpc_handlers(
        self, handlers: Sequence[grpc.GenericRpcHandler]
    ) -> None:
        """See `grpc.Server.add_generic_rpc_handlers`."""
        self._server.add_generic_rpc_handlers(
            [_Handlers(each, self._wait) for each in handlers]
        )

    def add_registered_method_handlers(
        self, service: str, handlers: Mapping[str, grpc.RpcMethodHandler]
    ) -> None:
        """Does nothing: the generic handlers already serve these methods."""

    def close(self, seconds: float) -> None:
        """Stops cancelling late calls: those that still wait are no longer limited."""
        self._poller.stop(seconds)

    @contextlib.contextmanager
    def _wait(self, context: grpc.ServicerContext) -> Iterator[None]:
        """Cancels a call unless the block ends in time."""
        with self._lock:
            self._waiting[context] = time.monotonic() + self._seconds
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


class _Handlers(grpc.GenericRpcHandler):
    """Handlers that serve calls as streams."""

    def __init__(self, handlers: grpc.GenericRpcHandler, wait: _Wait) -> None:
        self._handlers = handlers
        self._wait = wait

    def service(
        self, details: grpc.HandlerCallDetails
    ) -> Optional[grpc.RpcMethodHandler]:  # noqa: UP045
        handler = self._handlers.service(details)
        if handler is None or handler.request_streaming:
            return handler
        coding = (handler.request_deserializer, handler.response_serializer)
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(
                _several(handler.unary_stream, self._wait), *coding
            )
        return grpc.stream_unary_rpc_method_handler(
            _one(handler.unary_unary, self._wait), *coding
        )


def _one(method: Callable[[Any, Any], Any], wait: _Wait) -> Callable[..., Any]:
    def answer(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
        return method(_request(requests, context, wait), context)

    return answer


def _several(
    method: Callable[[Any, Any], Iterator[Any]], wait: _Wait
) -> Callable[..., Iterator[Any]]:
    def answer(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        yield from method(_request(requests, context, wait), context)

    return answer


def _request(
    requests: Iterator[Any], context: grpc.ServicerContext, wait: _Wait
) -> Any:
    with wait(context):
        for request in requests:
            return request
    context.abort(grpc.StatusCode.CANCELLED, "the request did not arrive")
