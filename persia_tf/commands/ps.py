"""`persia ps`: runs one parameter server shard until it is told to stop."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from persia_tf import errors
from persia_tf.commands import arguments, memory, recovering, serving

if TYPE_CHECKING:
    from persia_tf.commands.listening import Listening
    from persia_tf.commands.server import Server

EXAMPLES = """
persia ps --port 7000
persia ps --port 7000 --recovery-folder recovery --checkpoint-root checkpoints
persia ps --host 0.0.0.0 --auth-token-file token --memory-limit 64GiB
persia ps --port 7100 --replica-of 10.0.0.1:7000
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia ps`."""
    serving.add_arguments(parser, default_port=7000)
    parser.add_argument(
        "--checkpoint-root",
        type=arguments.folder_or_url,
        metavar="FOLDER",
        help="folder, or URL such as s3://BUCKET/FOLDER, where checkpoints are kept, "
        "which all shards must reach; no request reaches a file outside of it "
        "(default: there are no checkpoints)",
    )
    parser.add_argument(
        "--memory-limit",
        type=memory.limit,
        default=memory.share_of(shards=1),
        metavar="BYTES",
        help='what all tables may take, as "8GiB", as a share of the memory that '
        'this process may have, its control groups considered, as "50%%", or '
        '"unlimited" (%(default)s). There, tables that evict do, and others refuse '
        "new rows",
    )
    parser.add_argument(
        "--max-tables",
        type=arguments.at_least(1),
        default=4096,
        metavar="N",
        help="how many tables programs may make (%(default)s)",
    )
    parser.add_argument(
        "--replica-of",
        type=arguments.address,
        metavar="HOST:PORT",
        help="follow this shard, which has the same token and TLS, and answer "
        "lookups that are no training with a copy of its rows; no checkpoint root "
        "or recovery folder goes with it (default: this is a shard itself)",
    )
    recovering.add_arguments(parser, "default: it comes back empty")


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second one ends the process at once."""

    recovery = recovering.of_arguments(args)
    if args.recovery and not recovery.folder:
        raise errors.InvalidArgumentError(
            "--recovery needs --recovery-folder, where the shard keeps what it comes "
            "back from"
        )

    if args.replica_of and (args.checkpoint_root or recovery.folder):
        raise errors.InvalidArgumentError(
            "--replica-of goes without --checkpoint-root and --recovery-folder: a "
            f"replica gets its rows from {args.replica_of}"
        )

    def start_replica(listening: Listening) -> Server:
        from persia_tf.commands import server

        return server.replica(
            listening,
            source=args.replica_of,
            memory_limit=args.memory_limit,
            max_tables=args.max_tables,
        )

    def start(listening: Listening) -> Server:
        from persia_tf import files
        from persia_tf.commands import server

        root = args.checkpoint_root or ""
        if files.is_url(root):
            files.reach_urls(root)
        return server.shard(
            listening,
            checkpoint_root=root,
            recovery=recovery,
            memory_limit=args.memory_limit,
            max_tables=args.max_tables,
        )

    if args.replica_of:
        return serving.run(args, "Replica", "persia.ps", start_replica)
    return serving.run(args, "Shard", "persia.ps", start)
