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
from persia_tf.model_server import status
from persia_tf.model_server.byte_budget import ByteBudget, Share
from persia_tf.model_server.shown import shown

# After this grace period, a body must have arrived at this average rate.
_GRACE_SECONDS = 5.0
_LEAST_BYTES_PER_SECOND = 4096

# Each request's first bytes, which are not charged to the memory of all bodies: so
# small bodies are never refused. The limit of connections bounds them.
FREE_BYTES = 1 << 16

# The smallest size of the parts in which an arriving body is stored, except the last.
_PART_BYTES = 1 << 16

# The largest output of one step of inflating a body.
_STEP_BYTES = 1 << 16

# The most bytes that one compressed byte can stand for, in deflate's format.
_MOST_INFLATED = 1032

# zlib's `wbits` for each encoding. A deflate stream may also come without a header.
_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_NO_BEGINNING = -15


class UnreadError(errors.PersiaError):
    """The error for a body that was not read to its end.

    Attributes:
        http: The HTTP status of the answer.
    """

    def __init__(self, message: str, code: int, http_status: http.HTTPStatus) -> None:
        super().__init__(message, code)
        self.http = http_status


class Bodies:
    """Reads bodies within limits of size, memory and time.

    Args:
        most: The largest size of a body, both as sent and inflated, in bytes.
        memory: The memory of all bodies together, in bytes.
        seconds: How long a body may take to arrive.
    """

    def __init__(self, most: int, memory: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._turn: Optional[asyncio.Lock] = None  # noqa: UP045
        self.budget = ByteBudget(memory, "--body-memory")

    def share(self) -> Share:
        """Returns the share of a request in the memory of all bodies."""
        return self.budget.share(FREE_BYTES)

    async def read(self, request: web.Request, share: Share) -> Body:
        """Reads a request's body, as it was sent.

        Args:
            request: The request.
            share: Charged for the body.

        Raises:
            UnreadError: If it is too large or too slow, has an unknown encoding, or its
                client left.
            PersiaError: If the memory budget is exhausted.
        """
        encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding != "identity" and encoding not in _WINDOWS:
            raise UnreadError(
                "a body must be sent as it is, or with Content-Encoding gzip or "
                f"deflate. Received: {shown(encoding)}",
                status.UNIMPLEMENTED,
                http.HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            )
        self.check_size(request.content_length or 0, "by its Content-Length")
        try:
            return Body(await self._arrive(request, share), encoding, self)
        except web.RequestPayloadError as error:
            raise errors.InvalidArgumentError(
                f"the body is not what its headers say: {shown(str(error))}"
            ) from error
        except OSError as error:
            raise UnreadError(
                "the client left before its request was whole",
                status.CANCELLED,
                http.HTTPStatus.BAD_REQUEST,
            ) from error

    def check_size(self, count: int, what: str) -> None:
        """Raises UnreadError if `count` is more bytes than a body may have."""
        if count > self._most:
            raise UnreadError(
                f"the request is too large: its body may have {self._most} bytes. "
                f"Received: {count} bytes {what}; send fewer examples at once, ask by "
                "gRPC, or raise --max-body-bytes",
                status.RESOURCE_EXHAUSTED,
                http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )

    async def _arrive(self, request: web.Request, share: Share) -> list[bytearray]:
        # One growing array would be copied repeatedly, and a list of the parts received
        # may have one byte in each.
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
            # Created here, so that it belongs to the running loop.
            self._turn = asyncio.Lock()
        async with self._turn:
            await asyncio.sleep(0)

    async def _next(self, request: web.Request, began: float, count: int) -> bytes:
        """Returns the next part; raises UnreadError if the body is late or too slow."""
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
                told, status.DEADLINE_EXCEEDED, http.HTTPStatus.REQUEST_TIMEOUT
            ) from error


class Body:
    """A body that has arrived."""

    def __init__(self, parts: list[bytearray], encoding: str, bodies: Bodies) -> None:
        self._parts = parts
        self._encoding = encoding
        self._bodies = bodies

    @property
    def is_large(self) -> bool:
        """Whether `text` may take so long that it must wait for its turn."""
        small = FREE_BYTES
        if self._encoding != "identity":
            small //= _MOST_INFLATED
        return sum(map(len, self._parts)) > small

    def text(self, share: Share) -> bytes:
        """Returns its contents, inflated. It is slow: not for the event loop.

        Call it once: the body then releases its contents, so that they are freed with
        the last reference to the text.

        Args:
            share: Charged for the inflated parts.

        Raises:
            UnreadError: If it is too large when inflated.
            InvalidArgumentError: If it does not have the encoding that its header
                names.
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
                self._bodies.check_size(count, "or more, inflated")
                share.take(len(part))
                inflated.append(part)
        except zlib.error as error:
            raise errors.InvalidArgumentError(
                f"the body is not what its Content-Encoding says: {error}"
            ) from error
        return b"".join(inflated)

    def _inflated(self, sent: list[bytearray]) -> Iterator[bytes]:
        """Inflates a body, in parts of at most 64 KiB."""
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
