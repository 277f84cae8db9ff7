"""The servers of a `ptf.ray.Cluster` that run, and what the driver does for them."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import logging
import os
import secrets
import time
from collections.abc import Sequence
from typing import Any

import ray

from persia_tf import errors, stats
from persia_tf.client import session
from persia_tf.cluster import Cluster as ClientCluster
from persia_tf.credentials import auth
from persia_tf.credentials import tls as tls_lib
from persia_tf.processes import memory
from persia_tf.ray import data_servers, folder_lock, servers, shared_root
from persia_tf.ray.folder_lock import Entry, FolderLock
from persia_tf.ray.following import Follower, addresses_of
from persia_tf.ray.group import Group
from persia_tf.ray.losses import Losses
from persia_tf.ray.placement import Placement, Rooms
from persia_tf.ray.saving import Saving
from persia_tf.ray.token_files import token_file

_LOGGER = logging.getLogger("persia.ray")

_STATS_SECONDS = 5.0

# How long a shard may take to read and write the lock of the folder of checkpoints, and
# how many shards are asked in turn.
_LOCK_SECONDS = 10.0
_MOST_ASKED = 3

# How many programs may wait at once for a new address of one server.
_MOST_WAITING = 10_000


@dataclasses.dataclass(frozen=True)
class Settings:
    """The arguments of `ptf.ray.Cluster`, which documents them."""

    shards: int
    checkpoint_root: str
    name: str
    checkpoint_interval: float | None
    recovery_root: str
    embedding_workers: int
    data_workers: int
    insecure: bool
    cache_rows: int
    worker_timeout: float
    memory_limit: int | None
    cpus: float
    strategy: str
    auth_token_file: str | None
    tls: tls_lib.TLS | None
    start_timeout: float
    log_level: str

    @property
    def checkpoint_folder(self) -> str:
        """The folder of this cluster's checkpoints."""
        return f"{self.checkpoint_root.rstrip('/')}/{self.name}"


class Running:
    """Servers that run, and the driver's threads for them; the constructor starts them.

    Args:
        settings: The arguments of the cluster.

    Attributes:
        settings: The arguments of the cluster.
        token: The token of the servers.
        token_path: A file with it.
        group: The shards, for processes that follow them.
        numbers: The number of each shard in `group`.
        shards: Handles of the shards' actors.
        workers: Handles of the embedding workers' actors.
        addresses: The address of each shard now.
        data_service: The actors of data workers and their dispatcher, or None.
        dispatcher: The address of that dispatcher, or None.
        client: A `ptf.Cluster` of the shards, for this process.
        saving: Saves checkpoints.
        losses: Counts what restarted shards lost.

    Raises:
        PersiaError: As `ptf.ray.Cluster.start` does.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = self._settings = settings
        token = auth.read_token(auth.token_file(settings.auth_token_file))
        self.token = token or secrets.token_hex(32).encode()
        tls_lib.read(settings.tls)  # Reports wrong files before anything is started.
        for argument in ("checkpoint_root", "recovery_root"):
            shared_root.check_is_no_file(argument, getattr(settings, argument))
        if not ray.is_initialized():
            ray.init()
        with contextlib.ExitStack() as stack:
            self._start_servers(stack)
            self._start_threads(stack)
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """Stops the threads, and then the servers."""
        self._stack.close()

    def _start_servers(self, stack: contextlib.ExitStack) -> None:
        settings = self._settings
        placed = self._place()
        stack.callback(placed.remove)
        hosting = servers.Hosting(self.token, settings.tls, settings.log_level)
        unique = secrets.token_hex(8)
        recovery = os.path.join(
            settings.recovery_root, f".{settings.name}-recovery-{unique}"
        )
        self.group = Group(f"persia-{unique}")
        self._rooms = Rooms(placed, settings.shards, self._place_shards)
        stack.callback(self._rooms.remove)
        deadline = time.monotonic() + settings.start_timeout
        memory_limit = str(settings.memory_limit or memory.share_of(settings.shards))
        self._shard_arguments = (
            *(hosting, settings.checkpoint_root, recovery, memory_limit),
        )
        self.numbers = list(range(settings.shards))
        self._next_number = settings.shards
        self.shards = [self._shard(number) for number in self.numbers]
        self.addresses = self._wait_for("shard", self.shards, deadline)
        stack.callback(self._remove_recovery)
        check_shared(settings, self.shards, self.addresses)
        self.workers = [
            self._actor(servers.Worker, placed, settings.shards + index)(
                *(hosting, self.group, list(self.addresses)),
                *(settings.worker_timeout, settings.cache_rows),
            )
            for index in range(settings.embedding_workers)
        ]
        workers = self._wait_for("embedding worker", self.workers, deadline)
        self.data_service: data_servers.DataService | None = None
        self.dispatcher: str | None = None
        if settings.data_workers:
            self._start_data_workers(stack, placed, recovery, deadline)
        # The addresses by which this process may know servers; those of embedding
        # workers that Ray restarts are unknown to it.
        self._known = {*self.addresses, *workers}
        self._lock = FolderLock(
            _LockThroughShards(self.shards, settings.checkpoint_folder),
            *(settings.checkpoint_folder, _about_driver()),
        )
        stack.callback(self._lock.stop)
        placed.warn_if_full()

    def _start_data_workers(
        self,
        stack: contextlib.ExitStack,
        placed: Placement,
        recovery: str,
        deadline: float,
    ) -> None:
        settings = self._settings
        if not settings.insecure:
            data_servers.check_nodes_are_private()
        folder = os.path.join(recovery, "data")
        self.data_service = data_servers.DataService(
            data_servers.Hosting(settings.log_level, not settings.insecure, folder)
        )
        stack.callback(self.data_service.stop)
        [self.dispatcher] = self._wait_for(
            "dispatcher of data workers", [self.data_service.dispatcher], deadline
        )
        first = settings.shards + settings.embedding_workers
        makers = [
            self._actor(data_servers.DataWorker, placed, first + index)
            for index in range(settings.data_workers)
        ]
        self.data_service.start_workers(makers, self.dispatcher)
        self._wait_for("data worker", self.data_service.workers, deadline)

    def _place(self) -> Placement:
        settings = self._settings
        worker = {"CPU": settings.cpus}
        return Placement(
            [self._shard_resources()] * settings.shards
            + [worker] * (settings.embedding_workers + settings.data_workers),
            *(settings.strategy, settings.start_timeout),
        )

    def _place_shards(self, count: int) -> Placement:
        """Reserves room for shards that are added."""
        settings = self._settings
        return Placement(
            *([self._shard_resources()] * count, settings.strategy),
            settings.start_timeout,
        )

    def _shard_resources(self) -> dict[str, float]:
        resources = {"CPU": self._settings.cpus}
        if self._settings.memory_limit:
            resources["memory"] = self._settings.memory_limit
        return resources

    def _shard(self, number: int) -> Any:
        """Starts a shard's actor in its room."""
        return self._actor(
            *(servers.Shard, *self._rooms.of(number)),
            name=self.group.name_of(number),
            memory=self._settings.memory_limit,
        )(number, *self._shard_arguments)

    def start_shards(self, count: int) -> list[tuple[int, Any, str]]:
        """Starts shards that are no members of the cluster yet.

        Returns:
            The number, the handle and the address of each.

        Raises:
            UnavailableError: If Ray finds no room, or one of them does not start. Then
                none runs.
        """
        numbers = list(range(self._next_number, self._next_number + count))
        self._next_number += count
        self._rooms.reserve(numbers)
        started = [self._shard(number) for number in numbers]
        deadline = time.monotonic() + self._settings.start_timeout
        try:
            addresses = self._wait_for("shard", started, deadline)
            check_shared(self._settings, started, addresses)
        except BaseException:
            for actor in started:
                ray.kill(actor, no_restart=True)
            self._rooms.give_back(numbers)
            raise
        return list(zip(numbers, started, addresses))

    def follow(self, number: int, actor: Any, address: str) -> None:
        """Counts a shard that `start_shards` has started as one of the cluster's."""
        place = len(self.shards)
        self.numbers.append(number)
        self.shards.append(actor)
        self.addresses.append(address)
        self._known.add(address)
        self._added[number] = Follower(
            *([actor], [address]),
            lambda _, now_at: self._on_move(place, address, now_at),
        )

    def remove_last_shard(self) -> None:
        """Ends the last shard, which must own no rows, and gives its room back."""
        number = self.numbers.pop()
        if number in self._added:
            self._added.pop(number).stop()
        else:
            self._follower.forget(number)
        self.addresses.pop()
        ray.kill(self.shards.pop(), no_restart=True)
        self._rooms.give_back([number])

    def _on_move(self, place: int, known_as: str, now_at: str) -> None:
        """Follows a shard that Ray has restarted, by the address of its start."""
        session.move_shard(known_as, now_at)
        self.addresses[place] = now_at
        self._known.add(now_at)
        self.losses.add(place, now_at)

    def _stop_added(self) -> None:
        for follower in self._added.values():
            follower.stop()

    def _actor(self, kind: type, placed: Placement, index: int, **options: Any) -> Any:
        """Returns the function that makes an actor in the room number `index`."""
        return (
            ray.remote(kind)
            .options(
                num_cpus=self._settings.cpus,
                max_restarts=-1,
                max_concurrency=_MOST_WAITING,
                **placed.options_of(index),
                **options,
            )
            .remote
        )

    def _wait_for(self, what: str, actors: Sequence[Any], deadline: float) -> list[str]:
        left = max(0.0, deadline - time.monotonic())
        try:
            return addresses_of(actors, left)
        except ray.exceptions.GetTimeoutError as error:
            raise errors.UnavailableError(
                f"not every {what} started within {self._settings.start_timeout:g} s: "
                "Ray's logs may say why, and `start_timeout` allows more time"
            ) from error
        except ray.exceptions.RayError as error:
            raise errors.UnavailableError(
                f"one {what} did not start: {error}"
            ) from error

    def _close_sessions(self) -> None:
        try:
            session.close_sessions_of(self._known)
        except errors.PersiaError as error:
            _LOGGER.error("updates were lost as the servers stopped: %s", error)

    def _remove_recovery(self) -> None:
        """Removes the recovery folders; a shard that is away leaves them behind."""
        with contextlib.suppress(ray.exceptions.RayError):
            ray.get(self.shards[0].remove_recovery.remote(), timeout=_STATS_SECONDS)

    def _start_threads(self, stack: contextlib.ExitStack) -> None:
        settings = self._settings
        token_path = stack.enter_context(token_file(self.token))
        self.token_path = token_path
        self.client = ClientCluster(
            list(self.addresses),
            auth_token_file=token_path,
            tls=settings.tls or False,
        )
        named = tuple(self.addresses)

        def lost_updates(address: str) -> int:
            [shard] = stats.fetch(address, _STATS_SECONDS, token_path, settings.tls)
            return shard.lost_updates

        self.losses = Losses(lost_updates)
        stack.callback(self.losses.stop)
        self._added: dict[int, Follower] = {}
        self._follower = Follower(
            *(list(self.shards), named),
            lambda index, now_at: self._on_move(index, named[index], now_at),
        )
        stack.callback(self._follower.stop)
        stack.callback(self._stop_added)
        # Before the follower stops: closing waits for updates, perhaps to shards that
        # are moving.
        stack.callback(self._close_sessions)
        self.saving = Saving(
            *(self.client, settings.checkpoint_folder, settings.checkpoint_interval),
            self._lock.check,
        )
        stack.callback(self.saving.stop)


class _LockThroughShards:
    """Reaches the lock of a folder through the shards, for `FolderLock`.

    The driver may be on a machine that does not have the folder.
    """

    def __init__(self, shards: Sequence[Any], folder: str) -> None:
        self._shards = shards
        self._path = folder_lock.path_of(folder)
        self._asked = 0  # Counts requests, so that shards take turns.

    def hold(self, entry: Entry, instead_of: Entry | None) -> Entry:
        return self._call("hold_lock", entry, instead_of)

    def release(self, holder: str) -> None:
        self._call("release_lock", holder)

    def _call(self, method: str, *arguments: Any) -> Any:
        """Calls a method of one shard; if that fails, of the next ones."""
        for _ in range(min(len(self._shards), _MOST_ASKED)):
            shard = self._shards[self._asked % len(self._shards)]
            try:
                return ray.get(
                    getattr(shard, method).remote(self._path, *arguments),
                    timeout=_LOCK_SECONDS,
                )
            except ray.exceptions.RayError as error:
                failure = error
                self._asked += 1
        raise errors.UnavailableError(
            f"no shard answered a request for the lock {self._path}: {failure}"
        ) from failure


def _about_driver() -> str:
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return f"process {os.getpid()} of {os.uname().nodename}, from {now}"


def check_shared(
    settings: Settings, shards: Sequence[Any], addresses: Sequence[str]
) -> None:
    """Checks that the nodes of some shards share the folder of records.

    Raises:
        FailedPreconditionError: If they do not.
    """
    seconds = settings.start_timeout
    mark = ray.get(shards[0].leave_mark.remote(), timeout=seconds)
    try:
        seen = ray.get(
            [shard.sees_mark.remote(mark) for shard in shards], timeout=seconds
        )
    finally:
        ray.get(shards[0].remove_mark.remote(mark), timeout=seconds)
    shared_root.check(settings.recovery_root, addresses, seen)
