"""Standbys of the shards of `persia launch`, which take the places of shards that end.

A standby is promoted only after this process has seen the end of its primary's process,
so no program can ever reach the primary again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from persia_tf import errors
from persia_tf.base.addresses import Address
from persia_tf.processes import local_servers
from persia_tf.processes.children import LoggedChild
from persia_tf.processes.local_servers import FAILED_RESTART
from persia_tf.processes.shard_folders import ShardFolders

_LOG_SECONDS = 0.5  # Short, since programs wait for the promotion.


class Server(Protocol):
    """What a `Pair` uses of a `LaunchedServer`."""

    name: str
    title: str
    is_standby: bool
    child: LoggedChild
    listens: bool
    address: Address

    def told_end(self, code: int) -> str:
        """See `LaunchedServer`."""

    def restart(self, more: Sequence[str] | None = None) -> None:
        """See `LaunchedServer`."""


# Makes the standby at an address serve; the primary's process has ended. Raises
# PersiaError, as `persia_tf.resharding.promotion.promote` does.
Promote = Callable[[str], None]


class Pair:
    """A shard and its standby.

    Args:
        shard: The shard's server.
        standby: The standby's server.
        folders: The recovery folders of both.
        promote: A `Promote`.
        logger: The logger for messages about servers that have ended.
    """

    def __init__(
        self,
        shard: Server,
        standby: Server,
        folders: ShardFolders,
        promote: Promote,
        logger: logging.Logger,
    ) -> None:
        self._shard = shard
        self._standby = standby
        self._folders = folders
        self._promote = promote
        self._logger = logger
        self._given_up: set[str] = set()
        # Whether the standby's process has begun with an empty folder.
        self._began_empty = False

    def tend(self) -> None:
        """Promotes the standby if the shard has ended, and restarts what has ended."""
        if self._has_ended(self._standby):
            self._restart_standby()
        if self._has_ended(self._shard):
            self._replace_shard()

    def _has_ended(self, server: Server) -> bool:
        return server.name not in self._given_up and server.child.poll() is not None

    def _restart_standby(self) -> None:
        standby, told = self._standby, self._told_end(self._standby)
        if standby.listens:
            self._began_empty = False
            self._logger.error("%s; it is being restarted", told)
            standby.restart()
        elif self._began_empty or self._shard.child.poll() is not None:
            self._given_up.add(standby.name)
            self._logger.error(
                "%s; it failed to restart, for the reason in its log above, and %s has "
                "no standby any more",
                *(told, self._shard.title),
            )
        else:
            # All that the folder had is in the shard's, whose process runs.
            self._logger.error(
                "%s; it failed to restart, for the reason in its log above, and is "
                "started again with an empty folder",
                told,
            )
            self._began_empty = True
            self._folders.empty_spare()
            standby.restart()

    def _replace_shard(self) -> None:
        shard, told = self._shard, self._told_end(self._shard)
        if self._may_promote() and self._has_promoted(told):
            return
        if shard.listens:
            self._logger.error("%s; it is being restarted", told)
            shard.restart()
        else:
            self._given_up.add(shard.name)
            self._logger.error("%s; %s", told, FAILED_RESTART)

    def _may_promote(self) -> bool:
        standby = self._standby
        if standby.name in self._given_up or standby.child.poll() is not None:
            return False
        # A shard that can be restarted is back before a standby that still starts.
        return standby.listens or not self._shard.listens

    def _has_promoted(self, told: str) -> bool:
        """Promotes the standby; returns whether it serves."""
        shard, standby = self._shard, self._standby
        self._logger.error(
            "%s; its %s (%s) takes its place", told, standby.title, standby.address
        )
        began = time.monotonic()
        self._folders.begin_promotion(shard.address)
        try:
            self._promote(str(standby.address))
        except errors.PersiaError as error:
            self._folders.undo_promotion()
            self._logger.error("%s cannot take its place: %s", standby.title, error)
            if not isinstance(error, errors.FailedPreconditionError):
                # It may have been promoted, or may be yet. Only once it was restarted
                # does the shard, which asks it, know.
                local_servers.kill(standby.child, standby.title, self._logger)
                self._restart_standby()
            return False
        seconds = time.monotonic() - began
        shard.is_standby, standby.is_standby = True, False
        self._shard, self._standby = standby, shard
        self._folders.end_promotion()
        self._began_empty = True
        shard.restart([f"--standby-of={standby.address}"])
        self._logger.info(
            "%s (%s) took over after %.2f s; %s (%s) starts as its standby",
            *(standby.title, standby.address, seconds, shard.name, shard.address),
        )
        return True

    def _told_end(self, server: Server) -> str:
        server.child.join_log(_LOG_SECONDS)
        return server.told_end(server.child.wait())


class Standbys:
    """The standbys of all shards.

    Args:
        folders: The recovery folders of each shard; empty if shards have none.
        promote: A `Promote`.
        logger: The logger for messages about servers that have ended.
    """

    def __init__(
        self, folders: Sequence[ShardFolders], promote: Promote, logger: logging.Logger
    ) -> None:
        self._folders = folders
        self._promote = promote
        self._logger = logger
        self._pairs: list[Pair] = []

    def add(self, shards: Sequence[Server], standbys: Sequence[Server]) -> None:
        """Tends these servers from now on: the shards, and the standby of each."""
        self._pairs += [
            Pair(shard, standby, folders, self._promote, self._logger)
            for shard, standby, folders in zip(shards, standbys, self._folders)
        ]

    def tend(self) -> None:
        """Promotes standbys of shards that have ended, and restarts what has ended."""
        for pair in self._pairs:
            pair.tend()

    def begun_options(self, index: int) -> list[str]:
        """Returns more options of the shard that a promotion has begun to replace."""
        former = self._folders[index].former_primary if self._folders else None
        return [f"--standby-of={former}"] if former else []

    def finish_promotions(self, shards: Sequence[Address]) -> None:
        """Finishes the promotions that an earlier launch has begun, and did not finish.

        Args:
            shards: Where the shards listen, which have `begun_options`.

        Raises:
            FailedPreconditionError: If a shard refuses, since it was not promoted. Then
                the next launch uses the folder of its former primary.
            PersiaError: If a shard does not answer.
        """
        for folders, address in zip(self._folders, shards):
            if folders.former_primary is None:
                continue
            try:
                self._promote(str(address))
            except errors.FailedPreconditionError as error:
                folders.undo_promotion()
                raise errors.FailedPreconditionError(
                    "an earlier launch ended while it promoted a standby, and the "
                    f"promotion cannot be finished: {error}. Nothing is lost: launch "
                    f"again, and the shard is recovered from {folders.serving}"
                ) from error
            folders.end_promotion()
