"""`persia reshard`: adds, removes and replaces the shards of a cluster in use.

Rows, the state of their optimizers and all that belongs to them move while programs
train and serve. New shards must run already: `persia ps` starts them. The shards of
--to share the rows evenly at the end, or with --balance load the requests; each other
shard of the cluster owns nothing then, and may be stopped. Instead of --to, --add and
--remove name the shards that come and go, and all others stay. The command may be
interrupted, and given again, from any machine.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from persia_tf.commands import arguments
from persia_tf.commands.progress import Progress

if TYPE_CHECKING:
    from persia_tf.resharding.driver import ReshardProgress

# The examples in the help of `persia reshard`.
EXAMPLES = """
persia reshard --from 10.0.0.1:7000 --to 10.0.0.1:7000,10.0.0.2:7000
persia reshard --to 10.0.0.2:7000,10.0.0.3:7000 --rate 100MiB
persia reshard --to 10.0.0.2:7000,10.0.0.3:7000 --balance load --measure 60
persia reshard --from 10.0.0.1:7000 --add 10.0.0.3:7000 --remove 10.0.0.2:7000
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia reshard`."""
    parser.add_argument(
        "--from",
        dest="shards",
        **arguments.shards_of("one or more shards of the cluster as it is"),
    )
    parser.add_argument(
        "--to",
        type=arguments.address_list,
        metavar="HOST:PORT,...",
        help="all shards that are to own rows",
    )
    for option, text in (
        ("--add", "shards that are to own rows, too; instead of --to"),
        ("--remove", "shards that are to own none; instead of --to"),
    ):
        parser.add_argument(
            option,
            type=arguments.address_list,
            default=[],
            metavar="HOST:PORT,...",
            help=text,
        )
    parser.add_argument(
        "--balance",
        choices=("slots", "load"),
        default="slots",
        help="what the shards are to have the same of: slots, which have about as many "
        "rows each, or load, the ids and bytes that programs ask for (%(default)s)",
    )
    parser.add_argument(
        "--measure",
        type=arguments.seconds,
        default=10.0,
        metavar="SECONDS",
        help="for how long --balance load measures the load before rows move "
        "(%(default)g)",
    )
    arguments.add_rate(parser)
    parser.add_argument(
        "--timeout",
        type=arguments.seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long to wait for a shard's answer (%(default)g)",
    )
    arguments.add_auth_token_file(parser)
    arguments.add_tls(parser)


# Imports modules late, since these modules import NumPy: see commands/checkpoint_rows.
def run(args: argparse.Namespace) -> int:
    """Moves the rows; raises PersiaError if a shard does not answer."""
    if bool(args.to) == bool(args.add or args.remove):
        args.parser.error("give either --to, or --add, --remove or both")
    from persia_tf.resharding.admin import ClusterAdmin
    from persia_tf.resharding.driver import reshard
    from persia_tf.resharding.shards import shards_after

    progress = Progress("Moving", "slots")

    def show(now: ReshardProgress) -> None:
        progress.show(now.moved, now.slots)

    if args.balance == "load":
        print(f"Measuring the load for {args.measure:g} s", file=sys.stderr)
    addresses = [str(shard) for shard in args.shards]
    with ClusterAdmin(
        addresses, args.timeout, args.auth_token_file, arguments.tls_of(args)
    ) as admin:
        add, remove = (
            [str(shard) for shard in each] for each in (args.add, args.remove)
        )
        wanted = args.to or shards_after(admin.topology(), add, remove)
        try:
            done = reshard(
                admin,
                [str(shard) for shard in wanted],
                balance=args.balance,
                measure_seconds=args.measure,
                most_bytes_per_second=args.rate,
                show=show,
            )
        except KeyboardInterrupt:
            print(
                "\nMoves that are under way go on; give the command again for the "
                "rest.",
                file=sys.stderr,
            )
            raise
    progress.end(
        f"Moved {done.slots:,} slots with {done.rows:,} rows; requests for some slots "
        f"waited for {done.most_held * 1000:.1f} ms at most"
    )
    return 0
