"""Options of `persia ps` and `persia launch` for checkpoints and recovery."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from persia_tf import errors
from persia_tf.commands import arguments
from persia_tf.commands.options import Option

CHECKPOINT_ROOT = Option(
    "--checkpoint-root",
    type=arguments.folder_or_url,
    metavar="FOLDER",
    help="folder, or URL such as s3://BUCKET/FOLDER, for checkpoints, which all shards "
    "must reach; requests cannot reach files outside of it (default: no checkpoints)",
)


def options(without_folder: str) -> tuple[Option, ...]:
    """Returns the options that say how a shard recovers its rows.

    Args:
        without_folder: Help text that says what happens without `--recovery-folder`.
    """
    return (
        Option(
            "--recovery-folder",
            type=arguments.folder,
            metavar="FOLDER",
            help="where a shard keeps what it needs to recover after it was killed, on "
            f"a disk of this machine ({without_folder})",
        ),
        Option(
            "--recovery",
            choices=("log", "checkpoint"),
            help="what a shard recovers from: a log, to which every change is written "
            "before it is acknowledged, so that nothing is lost (the default), or the "
            "last checkpoint",
        ),
        Option(
            "--log-sync",
            choices=("device", "system"),
            default="device",
            help="what a logged change survives: loss of power (device), or only the "
            "end of the process, which costs less (system) (%(default)s)",
        ),
        Option(
            "--log-size",
            type=arguments.at_least(1),
            default=2**30,
            metavar="BYTES",
            help="how much a log may grow before a new snapshot of the shard's rows "
            "replaces it (1 GiB)",
        ),
        Option(
            "--lose-log-from",
            type=arguments.at_least(1),
            metavar="RECORD",
            help="start although the log is damaged at this record, whose number the "
            "error gives: the record and all later ones are lost, and no copy is kept "
            "(default: a shard whose log is damaged does not start)",
        ),
    )


# The options that have no effect unless a shard has a folder to recover from.
_OF_FOLDER = ("recovery", "log_sync", "log_size", "lose_log_from")


def check_folder(
    args: argparse.Namespace, options: Iterable[Option], folder: str
) -> None:
    """Refuses options about recovery of a shard that cannot recover its rows.

    Args:
        args: The command's options; they name no recovery folder.
        options: The declarations of the command's options.
        folder: What to give, for the error message.

    Raises:
        InvalidArgumentError: If an option about recovery is not the default.
    """
    for option in options:
        value = getattr(args, option.name)
        if option.name in _OF_FOLDER and value != option.how.get("default"):
            raise errors.InvalidArgumentError(
                f"{option.flag} needs {folder}. Received: {option.flag} {value}"
            )
