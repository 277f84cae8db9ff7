"""`persia ps`: runs one parameter server shard until it is told to stop."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from persia_tf.commands import arguments, serving

if TYPE_CHECKING:
    from persia_tf.commands.listening import Listening
    from persia_tf.commands.server import Server


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia ps`."""
    serving.add_arguments(parser, default_port=7000)
    parser.add_argument(
        "--checkpoint-root",
        type=arguments.folder,
        metavar="FOLDER",
        help="where checkpoints are kept, which all shards must reach; no request "
        "reaches a file outside of it (default: there are no checkpoints)",
    )


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second one ends the process at once."""

    def start(listening: Listening) -> Server:
        from persia_tf.commands import server

        return server.shard(listening, checkpoint_root=args.checkpoint_root or "")

    return serving.run(args, "Shard", start)
