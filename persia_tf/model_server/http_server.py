"""An HTTP server on a thread of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading

from aiohttp import web

from persia_tf import errors
from persia_tf.addresses import Address

# To start, and to end beyond what requests may take.
_SECONDS = 20.0

# aiohttp's own patience; `stop` says how long requests may really take.
_DRAIN_SECONDS = 3600.0


class HttpServer:
    """Serves from the moment it is made, until `stop`.

    Args:
        application: Answers.
        wanted: Where to listen; port 0: any free one.
        tls: How connections are encrypted. None: they are not.

    Attributes:
        address: Where it listens.

    Raises:
        UnavailableError: If it cannot.
    """

    def __init__(
        self,
        application: web.Application,
        wanted: Address,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._runner = web.AppRunner(
            application,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=_DRAIN_SECONDS,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="persia-rest", daemon=True
        )
        self._thread.start()
        try:
            self.address = wanted._replace(port=self._run(self._start(wanted, tls)))
        except OSError as error:
            self._run(self._runner.cleanup())
            self._end_thread()
            raise errors.UnavailableError(
                f"cannot listen on {wanted} for REST: {error}; choose another port, or "
                "0 for any free one"
            ) from error

    def stop(self, seconds: float) -> None:
        """Lets requests in flight end, for so long, and stops listening at once."""
        try:
            self._run(asyncio.wait_for(self._runner.cleanup(), seconds), seconds)
        except asyncio.TimeoutError:
            pass  # Who still waits is cut off.
        self._end_thread()

    async def _start(self, wanted: Address, tls: ssl.SSLContext | None) -> int:
        await self._runner.setup()
        site = web.TCPSite(
            self._runner,
            wanted.host,
            wanted.port,
            ssl_context=tls,
            reuse_address=True,
        )
        await site.start()
        return self._runner.addresses[0][1]

    def _run(self, coroutine, seconds: float = 0.0):
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(seconds + _SECONDS)

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
