"""The servers of a `ptf.ray.Cluster` that run, and what the driver does for them."""

from __future__ import annotations

import contextlib
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
from persia_tf.ray import data_servers, servers, shared_root
from persia_tf.ray.folder_lock import FolderLock
from persia_tf.ray.following import Follower, addresses_of
from persia_tf.ray.group import Group
from persia_tf.ray.losses import Losses
from persia_tf.ray.pair import PairedShard, PairSettings
from persia_tf.ray.placement import PairRooms, Placement, Rooms, warn_if_full
from persia_tf.ray.saving import Saving
from persia_tf.ray.settings import Settings
from persia_tf.ray.shards_lock import LockThroughShards, about_driver
from persia_tf.ray.token_files import token_file

_LOGGER = logging.getLogger("persia.ray")

_STATS_SECONDS = 5.0
# How many actors are asked in turn to remove what all nodes share.
_MOST_ASKED = 3
# How long shards with standbys may take to remove their logs.
_REMOVAL_SECONDS = 20.0

# How many programs may wait at once for a new address of one server.
_MOST_WAITING = 10_000


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
        shards: For each shard, the handles of its actors: one, and that of its standby.
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
        self._make_rooms(stack)
        hosting = servers.Hosting(self.token, settings.tls, settings.log_level)
        unique = secrets.token_hex(8)
        recovery = os.path.join(
            settings.recovery_root, f".{settings.name}-recovery-{unique}"
        )
        self.group = Group(f"persia-{unique}", settings.standbys)
        deadline = time.monotonic() + settings.start_timeout
        limit = str(settings.memory_limit or memory.share_of(settings.shard_processes))
        self._shard_arguments = hosting, settings.checkpoint_root, recovery, limit
        self.numbers = list(range(settings.shards))
        self._next_number = settings.shards
        self.shards = [self._shard(number) for number in self.numbers]
        stack.callback(self._remove_recovery)
        self.addresses = self._wait_for_shards(self.shards, deadline)
        check_shared(settings, self.shards)
        self.workers = [
            self._actor(servers.Worker, *self._room_of_other(index))(
                *(hosting, self.group, list(self.addresses)),
                *(settings.worker_timeout, settings.cache_rows),
            )
            for index in range(settings.embedding_workers)
        ]
        workers = self._wait_for("embedding worker", self.workers, deadline)
        self.data_service: data_servers.DataService | None = None
        self.dispatcher: str | None = None
        if settings.data_workers:
            self._start_data_workers(stack, recovery, deadline)
        # The addresses by which this process may know servers; those of embedding
        # workers that Ray restarts are unknown to it.
        self._known = {*self.addresses, *workers}
        self._lock = FolderLock(
            LockThroughShards(self.shards, settings.checkpoint_folder),
            *(settings.checkpoint_folder, about_driver()),
        )
        stack.callback(self._lock.stop)
        warn_if_full(settings.reserved_cpus)

    def _start_data_workers(
        self,
        stack: contextlib.ExitStack,
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
        first = settings.embedding_workers
        makers = [
            self._actor(data_servers.DataWorker, *self._room_of_other(first + index))
            for index in range(settings.data_workers)
        ]
        self.data_service.start_workers(makers, self.dispatcher)
        self._wait_for("data worker", self.data_service.workers, deadline)

    def _make_rooms(self, stack: contextlib.ExitStack) -> None:
        """Reserves the rooms of all servers."""
        settings = self._settings
        other = {"CPU": settings.cpus}
        others = [other] * (settings.embedding_workers + settings.data_workers)
        self._rooms: Rooms | PairRooms
        if settings.standbys:
            self._rooms = PairRooms(
                lambda seconds: Placement(
                    *([self._shard_resources()] * 2, "STRICT_SPREAD", seconds),
                ),
                settings.start_timeout,
            )
            stack.callback(self._rooms.remove)
            self._rooms.reserve(range(settings.shards))
        if settings.standbys and not others:
            return
        shards = 0 if settings.standbys else settings.shards
        placed = self._place([self._shard_resources()] * shards + others)
        stack.callback(placed.remove)
        self._placed_others = placed, shards
        if not settings.standbys:
            self._rooms = Rooms(
                *(placed, shards),
                lambda count: self._place([self._shard_resources()] * count),
            )
            stack.callback(self._rooms.remove)

    def _room_of_other(self, index: int) -> tuple[Placement, int]:
        """Returns the room of an embedding worker or data worker."""
        placed, first = self._placed_others
        return placed, first + index

    def _place(self, bundles: list[dict[str, float]]) -> Placement:
        settings = self._settings
        return Placement(bundles, settings.strategy, settings.start_timeout)

    def _shard_resources(self) -> dict[str, float]:
        resources = {"CPU": self._settings.cpus}
        if self._settings.memory_limit:
            resources["memory"] = self._settings.memory_limit
        return resources

    def _shard(self, number: int) -> list[Any]:
        """Starts a shard's actors in their rooms."""
        settings = self._settings
        makers = [
            self._actor(
                PairedShard if settings.standbys else servers.Shard,
                *room,
                name=name,
                memory=settings.memory_limit,
            )
            for name, room in zip(self.group.names_of(number), self._rooms.of(number))
        ]
        if not settings.standbys:
            return [makers[0](number, *self._shard_arguments)]
        pair = PairSettings(
            *(*self._shard_arguments, self.group),
            *(settings.log_root, settings.acknowledge),
        )
        return [make(number, side, pair) for side, make in enumerate(makers)]

    def start_shards(self, count: int) -> list[tuple[int, list[Any], str]]:
        """Starts shards that are no members of the cluster yet.

        Returns:
            The number, the handles and the address of each.

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
            addresses = self._wait_for_shards(started, deadline)
            check_shared(self._settings, started)
        except BaseException:
            self.end(started)
            self._rooms.give_back(numbers)
            raise
        return list(zip(numbers, started, addresses))

    def follow(self, number: int, actors: list[Any], address: str) -> None:
        """Counts a shard that `start_shards` has started as one of the cluster's."""
        place = len(self.shards)
        self.numbers.append(number)
        self.shards.append(actors)
        self.addresses.append(address)
        self._known.add(address)
        self._added[number] = Follower(
            *([actors], [address]),
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
        self.end([self.shards.pop()])
        self._rooms.give_back([number])

    def _on_move(self, place: int, known_as: str, now_at: str) -> None:
        """Follows a shard that Ray has restarted, by the address of its start."""
        session.move_shard(known_as, now_at)
        self.addresses[place] = now_at
        self._known.add(now_at)
        if self._settings.standbys:
            _LOGGER.warning("shard %d is at %s from now on", place, now_at)
        else:
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

    def _wait_for_shards(
        self, shards: Sequence[Sequence[Any]], deadline: float
    ) -> list[str]:
        """Waits until all actors of shards serve; returns the shards' addresses."""
        actors = [actor for each in shards for actor in each]
        return self._wait_for("shard", actors, deadline)[:: 1 + self.group.standbys]

    def _wait_for(self, what: str, actors: Sequence[Any], deadline: float) -> list[str]:
        left = max(0.0, deadline - time.monotonic())
        try:
            return addresses_of([[actor] for actor in actors], left)
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

    def end(self, shards: Sequence[Sequence[Any]]) -> None:
        """Ends the actors of shards for good."""
        self._remove_logs(shards)
        for actors in shards:
            for actor in actors:
                ray.kill(actor, no_restart=True)

    def _remove_recovery(self) -> None:
        """Removes the recovery folders; a node that is away leaves them behind."""
        self._remove_logs(self.shards)
        actors = [actor for each in self.shards for actor in each]
        for actor in actors[:_MOST_ASKED]:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(actor.remove_recovery.remote(), timeout=_STATS_SECONDS)
                return

    def _remove_logs(self, shards: Sequence[Sequence[Any]]) -> None:
        """Removes the folders that shards with standbys have on their own nodes."""
        if not self._settings.standbys:
            return
        removed = [actor.remove_log.remote() for each in shards for actor in each]
        ray.wait(removed, num_returns=len(removed), timeout=_REMOVAL_SECONDS)

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


def check_shared(settings: Settings, shards: Sequence[Sequence[Any]]) -> None:
    """Checks that the nodes of some shards share the folder of records.

    Raises:
        FailedPreconditionError: If they do not.
    """
    seconds = settings.start_timeout
    actors = [actor for each in shards for actor in each]
    mark = ray.get(actors[0].leave_mark.remote(), timeout=seconds)
    try:
        seen = ray.get(
            [actor.sees_mark.remote(mark) for actor in actors], timeout=seconds
        )
    finally:
        ray.get(actors[0].remove_mark.remote(mark), timeout=seconds)
    hosts = ray.get([actor.host.remote() for actor in actors], timeout=seconds)
    numbers = [number for number, each in enumerate(shards) for _ in each]
    names = [f"shard {number} on {host}" for number, host in zip(numbers, hosts)]
    shared_root.check(settings.recovery_root, names, seen)
