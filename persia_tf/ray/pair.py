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
import functools
import logging
import shutil
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
from persia_tf.ray.group import Group
from persia_tf.ray.pair_record import PairRecord, Serving
from persia_tf.ray.servers import Hosting, OnSharedFolder, is_restarted, retried
from persia_tf.ray.token_files import token_file
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.promotion import promote

_LOGGER = logging.getLogger("persia.ray")

# How long the other actor may hold back the answer that the shard is where it was, and
# how much later it is asked again.
_HOLD_SECONDS = 60.0
_LATE_SECONDS = 15.0
# How long it may take to become the shard.
_PROMOTION_SECONDS = 60.0
# The time between two questions to an actor that did not answer.
_RETRY_SECONDS = 0.2
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

    def log_folder(self, shard: int, side: int) -> Path:
        """Returns the recovery folder of an actor, on this node."""
        root = self.log_root or tempfile.gettempdir()
        return Path(root) / self.group.prefix / f"ps-{shard}-{side}"


class PairedShard(OnSharedFolder):
    """One of the two actors of a shard.

    Args:
        shard: The shard's number.
        side: 0 for the actor that serves the shard at first, 1 for the other one.
        settings: What all actors of pairs have in common.
    """

    def __init__(self, shard: int, side: int, settings: PairSettings) -> None:
        OnSharedFolder.__init__(self, shard, settings.recovery_folder)
        if files.is_url(settings.checkpoint_root):
            files.reach_urls(settings.checkpoint_root)
        self._shard = shard
        self._side = side
        self._settings = settings
        self._formatter = log.start(settings.hosting.log_level, "persia.ps")
        self._record = PairRecord(self._own)
        self._folder = settings.log_folder(shard, side)
        self._server: Server | None = None
        # Held while this actor becomes the shard, or follows another process.
        self._changing = threading.Lock()
        self._serves = False
        # Where the shard is, as far as this actor knows.
        self._shard_at: str | None = None
        self._moved = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        restarted = is_restarted()
        self._record.set_node_of(side, ray.get_runtime_context().get_node_id())
        if not restarted and side == 0:
            self._serve(None)
        elif not restarted:
            self._stand_by(self._ask("address", None))
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
            try:
                await asyncio.wait_for(moved.wait(), None if now_at is None else left)
            except asyncio.TimeoutError:
                continue

    async def take_over(self) -> str | None:
        """Serves the shard, since the other actor's process has ended.

        Returns:
            The address at which this actor serves the shard; None if it has not all
            rows.
        """
        return await asyncio.to_thread(self._take_over)

    async def own_address(self) -> str | None:
        """Returns the address of this actor's own process; None if it starts."""
        return None if self._server is None else str(self._server.address)

    async def remove_log(self) -> None:
        """Removes this actor's recovery folder, before it is stopped."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self) -> None:
        """Begins again after a restart, and then watches the shard as its standby."""
        while not self._serves:
            try:
                self._resume() if self._server is None else self._watch()
            except Exception:  # Such as that of a shared folder that is away.
                _LOGGER.exception(
                    "shard %d: its other actor is asked again", self._shard
                )
                time.sleep(_LOST_SECONDS)

    def _resume(self) -> None:
        """Finds who serves the shard, and becomes that, or its standby."""
        lost_at = time.monotonic() + _LOST_SECONDS
        while True:
            answered, now_at = self._ask_to_take_over()
            if now_at is not None:
                return retried(functools.partial(self._stand_by, now_at))
            serving = self._record.serving()
            if serving.side == self._side and self._folder.exists():
                may_serve = answered or self._is_lost(1 - self._side)
                if may_serve and self._serve_again(serving.former):
                    return None
            if time.monotonic() >= lost_at:
                lost_at = time.monotonic() + _LOST_SECONDS
                _LOGGER.error(
                    "shard %d has lost its rows, unless its other actor is restarted "
                    "with them: the processes of both have ended. To train from a "
                    "checkpoint, stop this cluster, and restore it in a new one",
                    self._shard,
                )
            time.sleep(_RETRY_SECONDS)

    def _ask_to_take_over(self) -> tuple[bool, str | None]:
        """Returns whether the other actor answered, and where it serves the shard."""
        try:
            return True, self._ask("take_over", _PROMOTION_SECONDS + _LATE_SECONDS)
        except (ValueError, futures.TimeoutError, ray.exceptions.RayError):
            return False, None

    def _ask(self, method: str, seconds: float | None, *arguments: Any) -> Any:
        """Calls a method of the other actor."""
        name = self._settings.group.names_of(self._shard)[1 - self._side]
        # A future, since `ray.get` warns in an actor with coroutines.
        reference = getattr(ray.get_actor(name), method).remote(*arguments)
        return reference.future().result(seconds)

    def _is_lost(self, side: int) -> bool:
        """Returns whether Ray has given up the node of an actor."""
        node = self._record.node_of(side)
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
        except (ValueError, futures.TimeoutError, ray.exceptions.RayError):
            time.sleep(_RETRY_SECONDS)
            if self._is_lost(1 - self._side) and self._take_over() is None:
                time.sleep(_LOST_SECONDS)
            return
        with self._changing:
            if self._serves or now_at == known:
                return
            retried(functools.partial(self._follow, now_at))

    def _take_over(self) -> str | None:
        with self._changing:
            if self._server is None:
                return None
            address = str(self._server.address)
            if self._serves:
                return address
            before = self._record.serving()
            self._record.set_serving(Serving(self._side, self._shard_at))
            try:
                self._promote(address)
            except errors.FailedPreconditionError as error:
                _LOGGER.error("shard %d: %s", self._shard, error)
                self._record.set_serving(before)
                return None
            self._serves = True
            self._move_to(address)
            return address

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

    def _serve(self, former: str | None) -> None:
        """Serves the shard from this actor's folder.

        Args:
            former: The address of the process whose place this one takes; None if it
                began as the shard.
        """
        with self._changing:
            address = self._start(former)
            if former is not None:
                self._promote(address)
            self._serves = True
            if is_restarted():
                self._tell_address(address)
            self._move_to(address)

    def _serve_again(self, former: str | None) -> bool:
        """Does the same after a restart; returns False if the folder lacks rows."""
        try:
            retried(functools.partial(self._serve, former))
        except errors.FailedPreconditionError as error:
            _LOGGER.error("shard %d: %s", self._shard, error)
            self._record.set_serving(Serving(1 - self._side))
            self._stop()
            return False
        return True

    def _tell_address(self, address: str) -> None:
        """Tells the cluster where the shard is, which knows its former address."""
        hosting = self._settings.hosting
        with (
            token_file(hosting.auth_token) as path,
            contextlib.suppress(
                errors.PersiaError  # No table was created, or other shards are away.
            ),
            ClusterAdmin([address], _TELL_SECONDS, path, hosting.tls) as admin,
        ):
            admin.join(address)

    def _stand_by(self, shard_at: str) -> None:
        """Becomes the standby of the process that serves, with an empty folder."""
        with self._changing:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._follow(shard_at)

    def _follow(self, shard_at: str) -> None:
        self._start(shard_at)
        self._move_to(shard_at)

    def _start(self, standby_of: str | None) -> str:
        """Starts the server of this process, and returns its address."""
        self._stop()
        settings = self._settings
        self._folder.mkdir(parents=True, exist_ok=True)
        where = settings.hosting.listening()
        values = {
            "host": where.host,
            "port": 0,
            "checkpoint_root": settings.checkpoint_root,
            "recovery": "log",
            "recovery_folder": str(self._folder),
            "memory_limit": memory.limit(settings.memory_limit),
            "acknowledge": settings.acknowledge,
            "standby_of": standby_of,
        }
        self._server = Server(
            *(servers.SHARD, health.PS_SERVICE, "persia.ps", where, values)
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
