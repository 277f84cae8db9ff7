"""`persia ps`: runs one parameter server shard until it is told to stop."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from persia_tf import errors
from persia_tf.commands import (
    arguments,
    listening_options,
    options,
    recovering,
    running,
)
from persia_tf.commands.options import Option
from persia_tf.processes import memory

if TYPE_CHECKING:
    from persia_tf.processes.listening import Listening
    from persia_tf.processes.native_server import Server

EXAMPLES = """
persia ps --port 7000
persia ps --port 7000 --recovery-folder recovery --checkpoint-root checkpoints
persia ps --host 0.0.0.0 --auth-token-file token --memory-limit 64GiB
persia ps --port 7100 --replica-of 127.0.0.1:7000
persia ps --port 7200 --recovery-folder standby --standby-of 127.0.0.1:7000
"""

# The options of `persia ps`, in the order in which its help lists them.
OPTIONS = (
    *listening_options.options(default_port=7000),
    recovering.CHECKPOINT_ROOT,
    Option(
        "--memory-limit",
        type=memory.limit,
        default=memory.share_of(shards=1),
        metavar="BYTES",
        help="the most memory for all tables: a size such as 8GiB; a share, such as "
        "50%%, of the memory that this process may use (the limits of its control "
        "groups count); or unlimited (%(default)s). At the limit, tables with eviction "
        "evict rows, and others refuse new ones",
    ),
    Option(
        "--max-tables",
        type=arguments.at_least(1),
        default=4096,
        metavar="N",
        help="the most tables that programs may create (%(default)s)",
    ),
    Option(
        "--replica-of",
        type=arguments.address,
        metavar="HOST:PORT",
        help="follow this shard, which has the same token and TLS, and answer lookups "
        "that are not for training from a copy of its rows; cannot be combined with "
        "--checkpoint-root or --recovery-folder (default: be a shard, not a replica)",
    ),
    *recovering.options("default: no folder, so after a restart the shard is empty"),
    recovering.ACKNOWLEDGE,
    Option(
        "--standby-of",
        type=arguments.address,
        metavar="HOST:PORT",
        help="receive the recovery log of this shard, which has the same token, TLS "
        "and --checkpoint-root, and take its place when persia promote says so; needs "
        "--recovery-folder and --recovery log, and has no effect once the process was "
        "promoted (default: be a shard, not a standby)",
    ),
    Option(
        "--standby-address",
        type=arguments.address,
        metavar="HOST:PORT",
        help="where programs and the primary reach this standby (default: --host and "
        "the port at which it listens; --host must then not be 0.0.0.0)",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia ps`."""
    options.declare(parser, OPTIONS)
    running.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second signal ends the process at once."""
    _check(args)

    def start(where: Listening) -> Server:
        from persia_tf import files
        from persia_tf.native import servers
        from persia_tf.processes import health, native_server

        root = args.checkpoint_root or ""
        if files.is_url(root):
            files.reach_urls(root)
        warning = memory.shortage(args.memory_limit)
        if warning is not None:
            logging.getLogger("persia.ps").warning("%s", warning)
        values = options.core_values(OPTIONS, args)
        return native_server.Server(
            *(servers.SHARD, health.PS_SERVICE, "persia.ps", where, values)
        )

    return running.run(args, _title(args), "persia.ps", start)


def _check(args: argparse.Namespace) -> None:
    """Refuses options that exclude each other, or lack others that they need."""
    if args.replica_of and args.standby_of:
        raise errors.InvalidArgumentError(
            "--standby-of cannot be combined with --replica-of: a process is a standby "
            f"or a replica. Received: --standby-of {args.standby_of} "
            f"--replica-of {args.replica_of}"
        )
    if args.replica_of and (args.checkpoint_root or args.recovery_folder):
        raise errors.InvalidArgumentError(
            "--replica-of cannot be combined with --checkpoint-root or "
            f"--recovery-folder: a replica gets its rows from {args.replica_of}"
        )
    if not args.recovery_folder:
        recovering.check_folder(
            args, OPTIONS, "--recovery-folder, from which the shard recovers its rows"
        )
    recovering.check_log(args, OPTIONS)
    if args.standby_address and not args.standby_of:
        raise errors.InvalidArgumentError(
            "--standby-address needs --standby-of, the shard whose place the process "
            f"can take. Received: --standby-address {args.standby_address}"
        )


def _title(args: argparse.Namespace) -> str:
    if args.standby_of:
        return "Standby"
    return "Replica" if args.replica_of else "Shard"
