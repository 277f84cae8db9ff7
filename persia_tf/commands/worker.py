"""`persia worker`: runs one embedding worker in front of parameter server shards.

It takes the requests of many trainers: it pools bags, asks the shards only once for an
id that several requests have, and can keep copies of hot rows. Trainers are given its
address instead of those of the shards.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from persia_tf.commands import arguments, listening_options, options, running
from persia_tf.commands.options import Option

if TYPE_CHECKING:
    from persia_tf.processes.listening import Listening
    from persia_tf.processes.native_server import Server

EXAMPLES = """
persia worker --ps 10.0.0.1:7000,10.0.0.2:7000
persia worker --ps 10.0.0.1:7000,10.0.0.2:7000 --port 7200 --cache-rows 100000
PERSIA_PS=10.0.0.1:7000,10.0.0.2:7000 persia worker
"""

# The options of `persia worker`, in the order in which its help lists them.
OPTIONS = (
    Option(
        "--ps",
        **arguments.shards_of(
            "the shards, which have the same token and TLS as the worker"
        ),
    ),
    *listening_options.options(default_port=7100),
    Option(
        "--cache-rows",
        type=arguments.at_least(0),
        default=0,
        metavar="N",
        help="keep copies of up to N hot rows of each table (%(default)s)",
    ),
    Option(
        "--timeout",
        type=arguments.seconds,
        default=20.0,
        metavar="SECONDS",
        help="how long the shards may take to answer; less than the trainers' own "
        "timeout, so that their error names the shard (%(default)g)",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia worker`."""
    options.declare(parser, OPTIONS)
    running.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second signal ends the process at once."""

    def start(where: Listening) -> Server:
        from persia_tf.native import servers
        from persia_tf.processes import health, native_server

        return native_server.Server(
            *(servers.WORKER, health.WORKER_SERVICE, "persia.worker"),
            *(where, options.core_values(OPTIONS, args)),
        )

    return running.run(args, "Worker", "persia.worker", start)
