"""`persia worker`: runs one embedding worker in front of parameter server shards.

It takes the requests of many trainers: it pools bags, asks the shards once for an id
that several want, and may keep copies of hot rows. Trainers name it in the place of
the shards.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from persia_tf.commands import arguments, serving

if TYPE_CHECKING:
    from persia_tf.commands.listening import Listening
    from persia_tf.commands.server import Server

EXAMPLES = """
persia worker --ps 10.0.0.1:7000,10.0.0.2:7000
persia worker --ps 10.0.0.1:7000,10.0.0.2:7000 --port 7200 --cache-rows 100000
PERSIA_PS=10.0.0.1:7000,10.0.0.2:7000 persia worker
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia worker`."""
    arguments.add_shards(
        parser,
        "--ps",
        "the shards, in the order that every worker and trainer has; they have "
        "the worker's token and TLS, if it has them",
    )
    serving.add_arguments(parser, default_port=7100)
    parser.add_argument(
        "--cache-rows",
        type=arguments.at_least(0),
        default=0,
        metavar="N",
        help="hot rows of each table to keep copies of (%(default)s)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=20.0,
        metavar="SECONDS",
        help="how long the shards may take to answer; less than the trainers' own "
        "timeout, so that they learn which shard it was (%(default)g)",
    )


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second one ends the process at once."""

    def start(listening: Listening) -> Server:
        from persia_tf.commands import server

        return server.worker(
            listening,
            shards=args.ps,
            timeout=args.timeout,
            cache_rows=args.cache_rows,
        )

    return serving.run(args, "Worker", "persia.worker", start)
