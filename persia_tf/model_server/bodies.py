"""Bodies of HTTP requests, read in bounded memory and time."""

from __future__ import annotations

import asyncio
import http
import time
import zlib
from collections.abc import Iterator
from typing import Any, Optional

from aiohttp import web

from persia_tf import errors
from persia_tf.model_server import codes
from persia_tf.model_server.byte_budget import ByteBudget, Share
from persia_tf.model_server.shown import shown

# How many seconds longer a body may take to arrive than it would at the minimum rate,
# `_LEAST_BYTES_PER_SECOND`.
_GRACE_SECONDS = 5.0
_LEAST_BYTES_PER_SECOND = 4096

# The number of bytes of each request that are not charged to the memory budget, so that
# no small body is refused for lack of memory. The limit on connections bounds the total
# of these bytes.
FREE_BYTES = 1 << 16

# An arriving body is stored in parts of at least this size; the last may be smaller.
_PART_BYTES = 1 << 16

# The largest number of bytes that one step of decompressing a body returns.
_STEP_BYTES = 1 << 16

# The largest number of bytes to which deflate's format can expand one byte.
_MOST_INFLATED = 1032

# zlib's `wbits` for each encoding; `_NO_BEGINNING` is for deflate without a header.
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_NO_BEGINNING = -15


class UnreadError(errors.PersiaError):
    """The error for a body that was not read completely.

    Attributes:
        http: The HTTP status of the answer.
    """

    def __init__(self, message: str, code: int, http_status: http.HTTPStatus) -> None:
        super().__init__(message, code)
        self.http = http_status


class Bodies:
    """Reads bodies within limits of size, memory and time.

    Args:
        most: The largest size of a body in bytes, both before and after decompression.
        memory: The memory budget: how many bytes all bodies together may take.
        seconds: How long a body may take to arrive.
    """

    def __init__(self, most: int, memory: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._turn: Optional[asyncio.Lock] = None  # noqa: UP045
        self.budget = ByteBudget(memory, "--body-memory")

    def share(self) -> Share:
        """Returns a new share of the memory budget, for one request."""
        return self.budget.share(FREE_BYTES)

    async def read(self, request: web.Request, share: Share) -> Body:
        """Reads a request's body, without decompressing it.

        Args:
            request: The request.
            share: The request's share of the memory budget, charged for the body.

        Raises:
            UnreadError: If the body is too large or too slow, or has an unknown
                encoding, or the client closes the connection.
            InvalidArgumentError: If the body does not match the request's headers.
            PersiaError: If the memory budget is exhausted.
        """
        encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding != "identity" and encoding not in _WINDOWS:
            raise UnreadError(
                "a body must be sent as it is, or with Content-Encoding gzip or "
                f"deflate. Received: {shown(encoding)}",
                codes.UNIMPLEMENTED,
                http.HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            )
        self.check_size(request.content_length or 0, "according to its Content-Length")
        try:
            return Body(await self._arrive(request, share), encoding, self)
        except web.RequestPayloadError as error:
            raise errors.InvalidArgumentError(
                f"the body is not what its headers say: {shown(str(error))}"
            ) from error
        except OSError as error:
            raise UnreadError(
                "the client closed the connection before its request was complete",
                codes.CANCELLED,
                http.HTTPStatus.BAD_REQUEST,
            ) from error

    def check_size(self, count: int, what: str) -> None:
        """Raises UnreadError if `count` is more bytes than a body may have."""
        if count > self._most:
            raise UnreadError(
                f"the request is too large: its body may have at most {self._most} "
                f"bytes. Received: {count} bytes {what}; send fewer examples at once, "
                "use gRPC, or raise --max-body-bytes",
                codes.RESOURCE_EXHAUSTED,
                http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )

    async def _arrive(self, request: web.Request, share: Share) -> list[bytearray]:
        # A body is stored in a list of arrays. One growing array would be copied
        # repeatedly, and the parts as received may be as short as one byte, so that a
        # list of them would take too much memory.
        arrived = [bytearray()]
        count = 0
        began = time.monotonic()
        while not request.content.at_eof():
            part = await self._next(request, began, count)
            count += len(part)
            self.check_size(count, "or more")
            share.take(len(part))
            if len(arrived[-1]) >= _PART_BYTES:
                arrived.append(bytearray())
            arrived[-1] += part
            if count > FREE_BYTES:
                await self._take_turns()
        return arrived

    async def _take_turns(self) -> None:
        """Lets only one large body continue per iteration of the event loop."""
        if self._turn is None:
            # The lock is created here so that it belongs to the running event loop.
            self._turn = asyncio.Lock()
        async with self._turn:
            await asyncio.sleep(0)

    async def _next(self, request: web.Request, began: float, count: int) -> bytes:
        """Returns a body's next bytes; raises UnreadError if the body is too slow."""
        late = began + self._seconds
        slow = began + _GRACE_SECONDS + count / _LEAST_BYTES_PER_SECOND
        try:
            return await asyncio.wait_for(
                request.content.readany(), min(late, slow) - time.monotonic()
            )
        except asyncio.TimeoutError as error:
            told = (
                f"the request did not arrive within {self._seconds:g} s"
                if late <= slow
                else f"the request came in at less than {_LEAST_BYTES_PER_SECOND} "
                f"bytes per second: {count} bytes in {time.monotonic() - began:.1f} s"
            )
            raise UnreadError(
                told, codes.DEADLINE_EXCEEDED, http.HTTPStatus.REQUEST_TIMEOUT
            ) from error


class Body:
    """The body of an HTTP request, which has arrived completely."""

    def __init__(self, parts: list[bytearray], encoding: str, bodies: Bodies) -> None:
        self._parts = parts
        self._encoding = encoding
        self._bodies = bodies

    @property
    def is_large(self) -> bool:
        """Whether `text` may be slow.

        If so, call it within a turn of `rest_api._Turns`.
        """
        small = FREE_BYTES
        if self._encoding != "identity":
            small //= _MOST_INFLATED
        return sum(map(len, self._parts)) > small

    def text(self, share: Share) -> bytes:
        """Returns the body's contents, decompressed.

        This is slow: do not call it on the event loop. Call it only once: to save
        memory, the body does not keep its contents afterwards.

        Args:
            share: The request's share of the memory budget, charged for decompressed
                contents.

        Raises:
            UnreadError: If the decompressed body is too large.
            InvalidArgumentError: If the body does not have the encoding that the
                request's header names.
            PersiaError: If the memory budget is exhausted.
        """
        sent, self._parts = self._parts, []
        if self._encoding == "identity":
            return b"".join(sent)
        inflated: list[bytes] = []
        count = 0
        try:
            for part in self._inflated(sent):
                count += len(part)
                self._bodies.check_size(count, "or more, decompressed")
                share.take(len(part))
                inflated.append(part)
        except zlib.error as error:
            raise errors.InvalidArgumentError(
                f"the body is not what its Content-Encoding says: {error}"
            ) from error
        return b"".join(inflated)

    def _inflated(self, sent: list[bytearray]) -> Iterator[bytes]:
        """Yields the decompressed body, in parts of at most 64 KiB."""
        inflater = zlib.decompressobj(self._window(sent[0]))
        for part in sent:
            left: Any = part
            while left:
                if inflater.eof:
                    raise zlib.error("there is more after its end")
                yield inflater.decompress(left, _STEP_BYTES)
                left = inflater.unconsumed_tail
        while not inflater.eof:
            part = inflater.decompress(b"", _STEP_BYTES)
            if not part and not inflater.eof:
                raise zlib.error("its end is missing")
            yield part
        if inflater.unused_data:
            raise zlib.error("there is more after its end")

    def _window(self, sent: bytearray) -> int:
        begins = sent[0] if sent else 0
        if self._encoding == "deflate" and begins & 0x0F != zlib.DEFLATED:
            return _NO_BEGINNING
        return _WINDOWS[self._encoding]
