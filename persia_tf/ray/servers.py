"""The actors: each runs a shard, or an embedding worker, within its process.

The native server ends with the actor's process, however it ends, and serves on threads
of its own. The actor's methods are coroutines, so that any number of programs can wait
for the answer of `address` at once.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import shutil
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray

from persia_tf import errors, files
from persia_tf.credentials import tls as tls_lib
from persia_tf.native import servers
from persia_tf.processes import health, log, memory
from persia_tf.processes.listening import Listening
from persia_tf.processes.native_server import Server
from persia_tf.ray import folder_lock, recovery_folders, shared_root
from persia_tf.ray.following import Follower
from persia_tf.ray.group import Group, ScaleFollower

_LOGGER = logging.getLogger("persia.ray")

# The time between two tries to start a server that Ray restarts.
_RETRY_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class Hosting:
    """What all servers of a cluster have in common.

    Attributes:
        auth_token: The token that clients must present.
        tls: The TLS files, whose paths are read on the server's own node; None for no
            TLS.
        log_level: The lowest level that servers log.
    """

    auth_token: bytes = dataclasses.field(repr=False)
    tls: tls_lib.TLS | None
    log_level: str

    def listening(self) -> Listening:
        """Returns where a server of this node listens; reads its TLS files."""
        return Listening(
            host=ray.util.get_node_ip_address(),
            control_port=0,
            auth_token=self.auth_token,
            tls=tls_lib.read(self.tls),
        )


class Addressed:
    """An actor that tells its address, which the constructor sets."""

    _address: str

    async def address(self, known: str | None = None, seconds: float = 0.0) -> str:
        """Returns the address on which this server listens.

        Args:
            known: The address that the caller knows. If it is the server's address, the
                answer takes `seconds`: until then it changes only if the server is
                restarted, and then the call fails.
            seconds: See `known`.
        """
        if known == self._address:
            await asyncio.sleep(seconds)
        return self._address


def start_server(
    name: str, kind: int, service: str, hosting: Hosting, values: Mapping[str, Any]
) -> Server:
    """Starts a server of the native core on a free port of this node.

    Args:
        name: The server's name in logs.
        kind: `servers.SHARD` or `servers.WORKER`.
        service: The server's name in health checks.
        hosting: What it has in common with other servers.
        values: The options of the native core.
    """
    where = hosting.listening()
    own = {"host": where.host, "port": 0, **values}
    return Server(kind, service, name, where, own)


class _Actor(Addressed):
    """A server of the native core, which the constructor starts.

    Args:
        name: The server's name in logs.
        kind: `servers.SHARD` or `servers.WORKER`.
        service: The server's name in health checks.
        hosting: What it has in common with other servers.
        values: The options of the native core.
    """

    def __init__(
        self,
        name: str,
        kind: int,
        service: str,
        hosting: Hosting,
        values: Mapping[str, Any],
    ) -> None:
        formatter = log.start(hosting.log_level, name)
        self._server = start_server(name, kind, service, hosting, values)
        self._address = str(self._server.address)
        formatter.place = self._address


class OnSharedFolder:
    """What the actor of any shard does in the folders that all nodes share.

    Args:
        shard: The shard's number.
        recovery_folder: The folder of this cluster's recovery folders, within a folder
            that all nodes share.
    """

    def __init__(self, shard: int, recovery_folder: str) -> None:
        self._shared = recovery_folder
        self._own = os.path.join(recovery_folder, f"ps-{shard}")
        # Beside the folders of starts, so that it stays when the shard is restarted.
        self._known_as = Path(f"{self._own}-address")

    async def known_as(self) -> str | None:
        """Returns the address at which an added shard joined; None if it has not."""
        try:
            return self._known_as.read_text()
        except FileNotFoundError:
            return None

    async def set_known_as(self, address: str) -> None:
        """Records that the shard has joined the cluster at an address."""
        self._known_as.write_text(address)

    async def host(self) -> str:
        """Returns the address of this actor's node."""
        return ray.util.get_node_ip_address()

    async def leave_mark(self) -> str:
        """See `shared_root.leave_mark`."""
        return shared_root.leave_mark(self._shared)

    async def sees_mark(self, name: str) -> bool:
        """See `shared_root.sees_mark`."""
        return shared_root.sees_mark(self._shared, name)

    async def remove_mark(self, name: str) -> None:
        """See `shared_root.remove_mark`."""
        shared_root.remove_mark(self._shared, name)

    async def remove_recovery(self) -> None:
        """Removes the recovery folders of all shards, before they are stopped."""
        shutil.rmtree(self._shared, ignore_errors=True)

    async def hold_lock(
        self, path: str, entry: folder_lock.Entry, instead_of: folder_lock.Entry | None
    ) -> folder_lock.Entry:
        """See `folder_lock.hold`."""
        # On a thread, since a request to a URL may take long.
        return await asyncio.to_thread(folder_lock.hold, path, entry, instead_of)

    async def release_lock(self, path: str, holder: str) -> None:
        """See `folder_lock.release`."""
        await asyncio.to_thread(folder_lock.release, path, holder)


class Shard(OnSharedFolder, _Actor):
    """A shard, which recovers from the newest checkpoint when it is restarted.

    Args:
        index: The shard's index.
        hosting: What it has in common with other servers.
        checkpoint_root: The folder for checkpoints, which all nodes share.
        recovery_folder: The folder of this cluster's recovery folders, within a folder
            that all nodes share.
        memory_limit: The memory that the tables may take, as for `persia ps`.
    """

    def __init__(
        self,
        index: int,
        hosting: Hosting,
        checkpoint_root: str,
        recovery_folder: str,
        memory_limit: str,
    ) -> None:
        OnSharedFolder.__init__(self, index, recovery_folder)
        if files.is_url(checkpoint_root):
            files.reach_urls(checkpoint_root)
        values = {
            "checkpoint_root": checkpoint_root,
            "recovery": "checkpoint",
            "memory_limit": memory.limit(memory_limit),
        }

        def start() -> None:
            folder = recovery_folders.next_folder(self._own)
            values["recovery_folder"] = folder
            try:
                _Actor.__init__(
                    self,
                    *("persia.ps", servers.SHARD, health.PS_SERVICE, hosting, values),
                )
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            recovery_folders.remove_older(folder)

        until_it_starts(start)


def is_restarted() -> bool:
    """Returns whether Ray has restarted this actor."""
    with warnings.catch_warnings():
        # Ray itself calls what it has deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        return ray.get_runtime_context().was_current_actor_reconstructed


def until_it_starts(start: Callable[[], None]) -> None:
    """Starts a server; if Ray has restarted its actor, again and again until it starts.

    Ray gives up an actor whose constructor raises.
    """
    if not is_restarted():
        return start()
    while True:
        try:
            return start()
        except errors.InvalidArgumentError:  # The next try would fail, too.
            raise
        except (errors.PersiaError, OSError) as error:
            _LOGGER.error(
                "a restart failed, and is tried again in %g s: %s",
                *(_RETRY_SECONDS, error),
            )
            time.sleep(_RETRY_SECONDS)


class Worker(_Actor):
    """An embedding worker, which follows the shards when they move.

    Args:
        hosting: What it has in common with other servers.
        group: The shards, as `Group`. Ray may lose handles that it would need to
            restart this actor, but not names.
        addresses: The address of each shard when the cluster was started; the worker
            learns which have changed.
        timeout: Seconds that a shard may take to answer.
        cache_rows: How many hot rows of each table the worker keeps copies of.
    """

    def __init__(
        self,
        hosting: Hosting,
        group: Group,
        addresses: Sequence[str],
        timeout: float,
        cache_rows: int,
    ) -> None:
        values = {"ps": list(addresses), "timeout": timeout, "cache_rows": cache_rows}
        super().__init__(
            *("persia.worker", servers.WORKER, health.WORKER_SERVICE, hosting, values)
        )
        # Some of the first shards may have left when Ray restarts this actor.
        first = [each for each in group.present() if each < len(addresses)]
        self._follower = Follower(
            [group.actors_of(number) for number in first],
            [addresses[number] for number in first],
            lambda index, now_at: self._server.move_shard(first[index], now_at),
        )
        self._scale_follower = ScaleFollower(
            *(group, first, lambda number: self._follower.forget(first.index(number))),
            self._server.move_address,
        )
