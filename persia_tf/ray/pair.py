"""A shard and its standby as actors, on two nodes: each can become the other.

One of the two serves the shard, and the other one, its standby, copies its log. When
the process of one ends, Ray restarts its actor, which asks the other one to serve, and
becomes the standby of that. When Ray gives up a node, it may find no room to restart
the actor elsewhere; so the standby also takes the shard's place when it sees that.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import tempfile
import threading
import time
from concurrent import futures
from pathlib import Path
from typing import Any

import ray

from persia_tf import errors, files
from persia_tf.native import servers
from persia_tf.processes import health, log, memory
from persia_tf.processes.native_server import Server
from persia_tf.ray.following import cancel
from persia_tf.ray.group import Group
from persia_tf.ray.pair_record import LogFolder, PairRecord, Serving
from persia_tf.ray.servers import (
    Hosting,
    OnSharedFolder,
    is_restarted,
    start_server,
)
from persia_tf.ray.token_files import token_file
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.promotion import promote

_LOGGER = logging.getLogger("persia.ray")

# What a call of an actor raises that is away, being restarted, or gone.
_NO_ANSWER = (ValueError, futures.TimeoutError, ray.exceptions.RayError)

# How long the other actor may hold back the answer that the shard is where it was, and
# how much later it is asked again.
_HOLD_SECONDS = 60.0
_LATE_SECONDS = 15.0
# How long it may take to become the shard.
_PROMOTION_SECONDS = 60.0
# The time between two questions to an actor that does not answer, or has not the rows.
_RETRY_SECONDS = 0.2
_MOST_RETRY_SECONDS = 5.0
# The time after an error, such as that of a shared folder that is away.
_ERROR_SECONDS = 2.0
# How often an actor that finds nobody with the shard's rows says so.
_LOST_SECONDS = 10.0
# How long the other shards may take to learn where a shard is.
_TELL_SECONDS = 5.0
# How long requests may take to end in a standby that begins to follow another process.
_STOP_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class PairSettings:
    """What all actors of pairs have in common.

    Attributes:
        hosting: What they have in common with other servers.
        checkpoint_root: The folder for checkpoints, which all nodes share.
        recovery_folder: The folder of this cluster's records, within a folder that all
            nodes share.
        memory_limit: The memory that the tables may take, as for `persia ps`.
        group: The shards.
        log_root: A folder of each node for logs; None for its temporary folder.
        acknowledge: As for `persia ps`.
    """

    hosting: Hosting
    checkpoint_root: str
    recovery_folder: str
    memory_limit: str
    group: Group
    log_root: str | None
    acknowledge: str

    def log_folder(self, shard: int, side: int) -> LogFolder:
        """Returns the recovery folder of an actor, on this node."""
        root = Path(self.log_root or tempfile.gettempdir())
        return LogFolder(root / self.group.prefix / f"ps-{shard}-{side}")


class PairedShard(OnSharedFolder):
    """One of the two actors of a shard.

    Args:
        shard: The shard's number.
        side: 0 for the actor that serves the shard at first, 1 for the other one.
        settings: What all actors of pairs have in common.
    """

    def __init__(self, shard: int, side: int, settings: PairSettings) -> None:
        OnSharedFolder.__init__(self, shard, settings.recovery_folder)
        self._shard = shard
        self._side = side
        self._other = settings.group.names_of(shard)[1 - side]
        self._settings = settings
        self._formatter = log.start(settings.hosting.log_level, "persia.ps")
        self._record = PairRecord(self._own, side)
        self._folder = settings.log_folder(shard, side)
        self._server: Server | None = None
        # Held while this actor becomes the shard, or follows another process.
        self._changing = threading.Lock()
        self._serves = False
        # How many times the other actor has asked this one to take over.
        self._asked = 0
        # Where the shard is, as far as this actor knows.
        self._shard_at: str | None = None
        self._moved = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        # Ray gives up an actor whose constructor raises, so a restart is the thread's.
        if not _is_restarted():
            self._begin()
        threading.Thread(target=self._run, name="persia-ray-pair", daemon=True).start()

    async def address(self, known: str | None = None, seconds: float = 0.0) -> str:
        """Returns the address at which the shard is, as far as this actor knows.

        Args:
            known: The address that the caller knows. The answer may take `seconds` if
                there is no other one.
            seconds: See `known`.
        """
        self._loop = asyncio.get_running_loop()
        until = time.monotonic() + seconds
        while True:
            moved = self._moved  # Read first: what moves from now on sets it.
            now_at = self._shard_at
            left = until - time.monotonic()
            if now_at is not None and (now_at != known or left <= 0.0):
                return now_at
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(moved.wait(), None if now_at is None else left)

    async def take_over(self) -> str | None:
        """Serves the shard, since the other actor's process has ended.

        Returns:
            The address at which this actor serves the shard; None if it has not all
            rows.
        """
        self._asked += 1
        return await asyncio.to_thread(self._take_over, self._asked)

    async def own_address(self) -> str | None:
        """Returns the address of this actor's own process; None while it starts."""
        server = self._server
        return None if server is None else str(server.address)

    async def remove_log(self) -> None:
        """Stops the server for good, and removes its recovery folder."""
        await asyncio.to_thread(self._remove_log)

    def _remove_log(self) -> None:
        with self._changing:
            self._serves = True  # Ends the thread.
            self._stop()
            self._folder.remove()

    def _begin(self) -> None:
        """Starts the server for the first time."""
        self._reach_files()
        if self._side == 0:
            self._serve(self._record.serving(), keep=False)
        else:
            self._stand_by(self._ask("address", None))

    def _reach_files(self) -> None:
        if files.is_url(self._settings.checkpoint_root):
            files.reach_urls(self._settings.checkpoint_root)
        self._record.set_node(ray.get_runtime_context().get_node_id())

    def _run(self) -> None:
        """Begins again after a restart, and then watches the shard as its standby."""
        while not self._serves:
            try:
                if self._server is None or self._shard_at is None:
                    self._resume()
                else:
                    self._watch()
            except (errors.PersiaError, OSError) as error:
                self._wait_after("%s", error)
            except Exception:
                _LOGGER.exception("shard %d", self._shard)
                self._wait_after("an error that was not expected")

    def _wait_after(self, reason: str, *values: object) -> None:
        _LOGGER.error(
            f"an actor of shard %d tries again in %g s: {reason}",
            *(self._shard, _ERROR_SECONDS, *values),
        )
        time.sleep(_ERROR_SECONDS)

    def _resume(self) -> None:
        """Finds who serves the shard, and becomes that, or its standby."""
        self._reach_files()
        lost_at = time.monotonic() + _LOST_SECONDS
        pause = _RETRY_SECONDS
        while not self._serves:
            answered, now_at = self._ask_to_take_over()
            if now_at is not None:
                return self._stand_by(now_at)
            serving = self._record.serving()
            if self._has_rows_of(serving) and (answered or self._is_lost()):
                return self._serve(serving, keep=True)
            if time.monotonic() >= lost_at:
                lost_at = time.monotonic() + _LOST_SECONDS
                _LOGGER.error(
                    "shard %d has lost its rows, unless its other actor is restarted "
                    "with them: the processes of both have ended. To train from a "
                    "checkpoint, stop this cluster, and restore it in a new one",
                    self._shard,
                )
            time.sleep(pause)
            pause = min(2 * pause, _MOST_RETRY_SECONDS)

    def _has_rows_of(self, serving: Serving) -> bool:
        """Returns whether this actor served last, and still has the folder of that."""
        return serving.side == self._side and self._folder.has("shard", serving.term)

    def _ask_to_take_over(self) -> tuple[bool, str | None]:
        """Returns whether the other actor answered, and where it serves the shard."""
        try:
            return True, self._ask("take_over", _PROMOTION_SECONDS + _LATE_SECONDS)
        except _NO_ANSWER:
            return False, None

    def _ask(self, method: str, seconds: float | None, *arguments: Any) -> Any:
        """Calls a method of the other actor."""
        # A future, since `ray.get` warns in an actor with coroutines.
        reference = getattr(ray.get_actor(self._other), method).remote(*arguments)
        try:
            return reference.future().result(seconds)
        except futures.TimeoutError:
            cancel(reference)
            raise

    def _is_lost(self) -> bool:
        """Returns whether Ray has given up the other actor, or its node."""
        if self._other not in ray.util.list_named_actors():
            return True
        node = self._record.node_of(1 - self._side)
        return node is not None and not any(
            each["Alive"] and each["NodeID"] == node for each in ray.nodes()
        )

    def _watch(self) -> None:
        """Waits for news of the shard, as its standby, and acts on them."""
        known = self._shard_at
        try:
            now_at = self._ask(
                *("address", _HOLD_SECONDS + _LATE_SECONDS, known, _HOLD_SECONDS)
            )
        except _NO_ANSWER:
            time.sleep(_RETRY_SECONDS)
            if self._is_lost() and self._take_over() is None:
                time.sleep(_LOST_SECONDS)
            return
        with self._changing:
            if not self._serves and now_at != known:
                self._follow(now_at)

    def _take_over(self, call: int | None = None) -> str | None:
        with self._changing:
            # The other actor asks again after a time, and may serve once it has an
            # answer: a call from before, which has waited here, must do nothing.
            is_late = call is not None and call != self._asked
            if self._server is None or is_late:
                return None
            address = str(self._server.address)
            if self._serves:
                return address
            before = self._record.serving()
            taken = before.taken_by(self._side, self._shard_at)
            self._folder.use("shard", taken.term, keep=True)
            self._record.set_serving(taken)
            if not self._takes_place(address, before):
                return None
            self._begin_to_serve(address)
            return address

    def _takes_place(self, address: str, recorded: Serving) -> bool:
        """Makes this actor's standby the shard, unless it has not all rows.

        Args:
            address: Where the standby is.
            recorded: What was recorded before. If the standby is refused, this is
                recorded again; or, if this actor had been interrupted as it took the
                place, that the other one serves.
        """
        try:
            self._promote(address)
        except errors.FailedPreconditionError as error:
            _LOGGER.error("shard %d: %s", self._shard, error)
            given_back = recorded.given_back(self._side)
            self._record.set_serving(given_back)
            self._folder.use("standby", given_back.term, keep=True)
            return False
        return True

    def _promote(self, address: str) -> None:
        hosting = self._settings.hosting
        with token_file(hosting.auth_token) as path:
            promote(
                address,
                primary_is_gone=True,
                timeout=_PROMOTION_SECONDS,
                auth_token_file=path,
                tls=hosting.tls,
            )

    def _serve(self, serving: Serving, *, keep: bool) -> None:
        """Serves the shard from this actor's folder.

        Args:
            serving: What is recorded of this actor.
            keep: Whether the folder has the shard's rows.
        """
        with self._changing:
            self._folder.use("shard", serving.term, keep=keep)
            address = self._start(serving.former)
            # If this process ended as it began to take the place, it may be refused:
            # it has another address now than the shard's log says.
            if serving.former is not None and not self._takes_place(address, serving):
                return self._stop()
            if keep:
                self._tell_address(address)
            return self._begin_to_serve(address)

    def _begin_to_serve(self, address: str) -> None:
        self._move_to(address)
        self._serves = True

    def _tell_address(self, address: str) -> None:
        """Tells the cluster where the shard is, which knows its former address."""
        hosting = self._settings.hosting
        try:
            with token_file(hosting.auth_token) as path:
                with ClusterAdmin([address], _TELL_SECONDS, path, hosting.tls) as admin:
                    admin.join(address)
        except (errors.PersiaError, OSError) as error:
            # There is no table yet, or other shards are away. Programs learn of the
            # address from this actor.
            _LOGGER.warning("shard %d at %s: %s", self._shard, address, error)

    def _stand_by(self, shard_at: str) -> None:
        """Becomes the standby of the process that serves.

        A copy of the same term goes on; what else the folder has is removed.
        """
        with self._changing:
            term = self._record.serving().term
            keep = self._folder.has("standby", term)
            self._folder.use("standby", term, keep=keep)
            self._follow(shard_at)

    def _follow(self, shard_at: str) -> None:
        self._start(shard_at)
        self._move_to(shard_at)

    def _start(self, standby_of: str | None) -> str:
        """Starts the server of this process, and returns its address."""
        self._stop()
        settings = self._settings
        values = {
            "checkpoint_root": settings.checkpoint_root,
            "recovery": "log",
            "recovery_folder": str(self._folder.path),
            "memory_limit": memory.limit(settings.memory_limit),
            "acknowledge": settings.acknowledge,
            "standby_of": standby_of,
        }
        self._server = start_server(
            *("persia.ps", servers.SHARD, health.PS_SERVICE, settings.hosting, values)
        )
        self._formatter.place = str(self._server.address)
        return self._formatter.place

    def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop(_STOP_SECONDS)

    def _move_to(self, shard_at: str) -> None:
        """Tells those that wait for it where the shard is now."""
        self._shard_at = shard_at
        moved, self._moved = self._moved, asyncio.Event()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(moved.set)


def _is_restarted() -> bool:
    """Returns whether Ray has restarted this actor; True if it cannot be known."""
    try:
        return is_restarted()
    except Exception:
        _LOGGER.exception("Ray does not tell whether it has restarted this actor")
        return True
