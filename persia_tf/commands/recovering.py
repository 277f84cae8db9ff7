"""Options of `persia ps` and `persia launch` for checkpoints and recovery."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

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

ACKNOWLEDGE = Option(
    "--acknowledge",
    choices=("self", "standby"),
    default="self",
    help="when a shard answers an update: once its own log has it (self), or once its "
    "standby has it too, so that nothing is lost if the shard's machine is "
    "(standby); a shard that never had a standby with all its rows does not wait for "
    "one (%(default)s)",
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
            "error gives: the record and all later ones are lost; later files stay in "
            "the folder as lost-log-... (default: a shard whose log is damaged does "
            "not start)",
        ),
    )


# Options that need the recovery log, and those that need only the folder, to recover
# from the log or a checkpoint.
_OF_LOG = ("acknowledge", "standby_of")
_OF_FOLDER = ("recovery", "log_sync", "log_size", "lose_log_from", *_OF_LOG)


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
    for option, value in _given(args, options, _OF_FOLDER):
        raise errors.InvalidArgumentError(
            f"{option.flag} needs {folder}. Received: {option.flag} {value}"
        )


def check_log(args: argparse.Namespace, options: Iterable[Option]) -> None:
    """Refuses options about standbys, to which shards send their recovery logs.

    Args:
        args: The command's options.
        options: The declarations of the command's options.

    Raises:
        InvalidArgumentError: If such an option is not the default, and the shard's
            folder has no log.
    """
    if args.recovery != "checkpoint":
        return
    for option, value in _given(args, options, _OF_LOG):
        raise errors.InvalidArgumentError(
            f"{option.flag} needs --recovery log, since a standby receives its "
            f"primary's log. Received: {option.flag} {value} --recovery checkpoint"
        )


def _given(
    args: argparse.Namespace, options: Iterable[Option], names: Iterable[str]
) -> Iterator[tuple[Option, Any]]:
    """Yields the options of some names whose values are not the defaults."""
    for option in options:
        value = getattr(args, option.name)
        if option.name in names and value != option.how.get("default"):
            yield option, value
