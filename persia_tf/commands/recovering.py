"""Options of `persia ps` and `persia launch` for checkpoints and recovery."""

from __future__ import annotations

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
