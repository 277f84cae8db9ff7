"""`persia checkpoint save` and `restore`: have shards write and read checkpoints."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from absl import logging

from persia_tf.commands import arguments
from persia_tf.commands.progress import Progress

if TYPE_CHECKING:
    from persia_tf.checkpoint import Save
    from persia_tf.cluster import Cluster

# The examples in the help of each action.
EXAMPLES = {
    "save": """
persia checkpoint save run1 --ps 10.0.0.1:7000,10.0.0.2:7000
persia checkpoint save run1 --incremental --max-to-keep 20
persia checkpoint save s3://bucket/checkpoints/run1 --max-to-keep all
""",
    "restore": """
persia checkpoint restore run1 --ps 10.0.0.1:7000,10.0.0.2:7000
persia checkpoint restore run1/ckpt-00000007
""",
}
_OF_SHARDS = """
The shards read and write the files, so PATH is a path on their machines: within the
folder or URL of their --checkpoint-root, relative to that or absolute. The command
prints the checkpoint's folder to stdout.
"""
SAVE = f"""
Saves the rows of all tables of running shards, with the state of their optimizers, as
a new checkpoint in PATH.
{_OF_SHARDS}
Programs may train meanwhile. Each shard saves its rows as they are at one moment, but
that moment differs between shards. For all rows to be of one step, pause training.
"""
RESTORE = f"""
Restores the rows of a checkpoint, PATH or the newest one in PATH, into any number of
running shards. All shards restore it, or none does. Tables that are not in it stay as
they are.
{_OF_SHARDS}
A program that trains meanwhile fails in its next step: restore before training begins,
or between two calls of fit.
"""


def add_save_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia checkpoint save`."""
    _add_shards(parser, "folder for checkpoints, as the shards see it")
    parser.add_argument(
        "--incremental",
        action="store_true",
        help="save only what changed since the newest checkpoint in PATH, which the "
        "new one then needs; if a shard does not know what changed, save all rows and "
        "say so",
    )
    parser.add_argument(
        "--max-to-keep",
        type=count_or_all,
        default="5",
        metavar="N",
        help="how many checkpoints stay in PATH, besides those that they need; older "
        'ones are removed (%(default)s); "all": none is removed',
    )


def add_restore_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia checkpoint restore`."""
    _add_shards(parser, "a checkpoint, or a folder of several, as the shards see it")


def _add_shards(parser: argparse.ArgumentParser, path: str) -> None:
    parser.add_argument("path", metavar="PATH", help=path)
    parser.add_argument(
        "--ps", **arguments.shards_of("the shards, or their embedding workers")
    )
    parser.add_argument(
        "--timeout",
        type=arguments.seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long a shard may leave a request unanswered; time spent writing or "
        "reading files does not count (%(default)g)",
    )
    arguments.add_auth_token_file(parser)
    arguments.add_tls(parser)


def count_or_all(text: str) -> int | None:
    return None if text == "all" else arguments.at_least(1)(text)


# The functions below import modules late, since these modules import NumPy. The process
# of `persia launch` loads this file too, and threads of NumPy there would receive the
# signals for which that process waits.
def save(args: argparse.Namespace) -> int:
    """Saves a checkpoint, and prints its folder."""
    from persia_tf import checkpoint

    progress = Progress("Saving")
    saving = checkpoint.save(
        args.path,
        cluster=_cluster(args),
        incremental=args.incremental,
        max_to_keep=args.max_to_keep,
        block=False,
    )
    _wait(saving, progress)
    what = "changes of rows" if saving.is_incremental else "rows"
    progress.end(f"Saved {saving.rows:,} {what} to {saving.folder}")
    print(saving.folder)
    return 0


def restore(args: argparse.Namespace) -> int:
    """Restores a checkpoint, and prints its folder."""
    from persia_tf import checkpoint

    progress = Progress("Restoring")
    folder = checkpoint.restore(
        args.path, cluster=_cluster(args), progress=progress.show
    )
    progress.end(f"Restored {folder}")
    print(folder)
    return 0


def _wait(saving: Save, progress: Progress) -> None:
    try:
        saving.wait(progress=progress.show)
    except KeyboardInterrupt:
        print(
            f"\n{saving.folder} is complete once the shards have written it: this "
            "command waits for them. Interrupt it again to leave the checkpoint "
            "unfinished.",
            file=sys.stderr,
        )
        raise


def _cluster(args: argparse.Namespace) -> Cluster:
    from persia_tf.cluster import Cluster

    logging.set_verbosity(logging.WARNING)  # The command prints its own messages.

    return Cluster(
        [str(shard) for shard in args.ps],
        timeout=args.timeout,
        auth_token_file=args.auth_token_file,
        tls=arguments.tls_of(args) or False,
    )
