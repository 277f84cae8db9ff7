"""The shards of `persia launch`, with their standbys."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path

from persia_tf import errors
from persia_tf.base.addresses import Address
from persia_tf.commands import arguments, options, recovering
from persia_tf.commands.options import Option
from persia_tf.processes import local_servers, memory
from persia_tf.processes.local_servers import LocalServers
from persia_tf.processes.shard_folders import ShardFolders
from persia_tf.processes.standbys import Standbys

_PROMOTION_SECONDS = 10.0

# Options that are passed on to the `persia ps` of each shard.
_SHARD_OPTIONS = (
    Option(
        "--memory-limit",
        metavar="BYTES",
        help="the most memory for the tables of each shard: see persia ps --help "
        f"(default: equal parts of {memory.DEFAULT_PERCENT:g}%% of this machine's)",
    ),
    recovering.CHECKPOINT_ROOT,
    *recovering.options(
        "each shard has a subfolder, from which the next launch recovers it; default: "
        "a temporary folder if --recovery or --standbys is given, else no folder, and "
        "then servers that end are not restarted"
    ),
)
# Those that are passed on if shards have standbys.
_STANDBY_OPTIONS = (recovering.ACKNOWLEDGE,)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options about shards, but for their number."""
    parser.add_argument(
        "--standbys",
        type=arguments.between(0, 1),
        default=0,
        metavar="N",
        help="number of standbys of each shard, 0 or 1 (%(default)s): the standby of a "
        "shard that ends takes its place at once, and a new standby is started",
    )
    options.declare(parser, _SHARD_OPTIONS + _STANDBY_OPTIONS)


def check(args: argparse.Namespace) -> None:
    """Refuses options that need others which are not given.

    Raises:
        InvalidArgumentError: If there are such options.
    """
    if args.standbys and args.recovery == "checkpoint":
        raise errors.InvalidArgumentError(
            "--standbys 1 needs --recovery log, since a standby receives its shard's "
            "log. Received: --standbys 1 --recovery checkpoint"
        )
    if args.acknowledge == "standby" and not args.standbys:
        raise errors.InvalidArgumentError(
            "--acknowledge standby needs --standbys 1. Received: --acknowledge standby "
            "--standbys 0"
        )
    if not args.recovery and not args.recovery_folder and not args.standbys:
        recovering.check_folder(
            *(args, _SHARD_OPTIONS),
            "--recovery-folder, from which the next launch recovers the shards, "
            "--recovery or --standbys",
        )


class LaunchedShards:
    """The shards of a launch, and their standbys, if there are any.

    Args:
        args: The values of the options.
        temporary: The folder of the recovery folders, if the options name none.
        logger: The logger for messages about servers that have ended.
    """

    def __init__(
        self, args: argparse.Namespace, temporary: Path, logger: logging.Logger
    ) -> None:
        self._args = args
        self._values = options.values(_SHARD_OPTIONS, args)
        recovery = self._values.pop("recovery_folder")
        if not recovery and (args.recovery or args.standbys):
            recovery = str(temporary)
        if args.standbys:
            self._values |= options.values(_STANDBY_OPTIONS, args)
        self._folders = [
            ShardFolders(recovery, index) for index in range(args.ps) if recovery
        ]
        self._standbys = Standbys(self._folders, self._promote, logger)

    @property
    def recover(self) -> bool:
        """Whether the shards have recovery folders."""
        return bool(self._folders)

    def tend(self) -> None:
        """Does what `Standbys.tend` does."""
        self._standbys.tend()

    def start(
        self,
        servers: LocalServers,
        rest: Callable[[float], None],
        metrics_option: Callable[[int], list[str]],
    ) -> list[Address]:
        """Starts the shards, and then their standbys.

        Args:
            servers: What starts, stops and, without standbys, tends them.
            rest: As for `LocalServers.start`.
            metrics_option: Returns the option about metrics of the process with an
                index: shards are counted first, and then standbys.

        Returns:
            The addresses of the shards.

        Raises:
            OSError, StartError: As `LocalServers.start` does.
            PersiaError: As `Standbys.finish_promotions` does.
        """
        timeout = self._args.start_timeout
        shards = servers.start("ps", self._shard_options(metrics_option), timeout, rest)
        addresses = [shard.address for shard in shards]
        self._standbys.finish_promotions(addresses)
        if self._args.standbys:
            of_standbys = self._standby_options(addresses, metrics_option)
            standbys = servers.start(
                "ps", of_standbys, timeout, rest, are_standbys=True
            )
            servers.leave([*shards, *standbys])
            self._standbys.add(shards, standbys)
        return addresses

    def _shard_options(
        self, metrics_option: Callable[[int], list[str]]
    ) -> list[list[str]]:
        return [
            self._ps_options(self._folders[index].serving if self._folders else None)
            + self._standbys.begun_options(index)
            + metrics_option(index)
            for index in range(self._args.ps)
        ]

    def _standby_options(
        self, shards: list[Address], metrics_option: Callable[[int], list[str]]
    ) -> list[list[str]]:
        return [
            self._ps_options(folders.spare)
            + [f"--standby-of={shard}"]
            + metrics_option(self._args.ps + index)
            for index, (folders, shard) in enumerate(zip(self._folders, shards))
        ]

    def _ps_options(self, recovery_folder: str | None) -> list[str]:
        processes = self._args.ps * (1 + self._args.standbys)
        return local_servers.shard_command_line(
            *(recovery_folder, processes, self._values, self._args.log_level)
        )

    def _promote(self, address: str) -> None:
        # Imported late, since it loads the native library.
        from persia_tf.resharding.promotion import promote

        promote(
            address,
            primary_is_gone=True,
            timeout=_PROMOTION_SECONDS,
            auth_token_file=self._args.auth_token_file,
            tls=arguments.tls_of(self._args),
        )
