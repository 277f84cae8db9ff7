"""How a shard comes back after it was killed: the options of `persia ps` and launch."""

from __future__ import annotations

import argparse
import dataclasses
import os

from persia_tf import _native
from persia_tf.commands import arguments


@dataclasses.dataclass(frozen=True)
class Recovery:
    """From what a shard comes back, and where it keeps that.

    Attributes:
        folder: Of this shard alone, on this machine; `""`: it does not come back.
        source: `"log"`: every change. `"checkpoint"`: the last one.
        log_sync: What a logged change survives: `"device"`, loss of power;
            `"system"`, the end of the process.
        log_size: Bytes by which a log grows until it is written anew as rows; 0:
            the default.
        lose_log_from: The damaged record of the log from which on all is given up; 0:
            none.
    """

    folder: str = ""
    source: str = "log"
    log_sync: str = "device"
    log_size: int = 0
    lose_log_from: int = 0

    def options(self) -> list[str]:
        """Returns what `persia ps` is told on its command line."""
        if not self.folder:
            return []
        options = [f"--recovery-folder={self.folder}", f"--recovery={self.source}"]
        options.append(f"--log-sync={self.log_sync}")
        if self.log_size:
            options.append(f"--log-size={self.log_size}")
        if self.lose_log_from:
            options.append(f"--lose-log-from={self.lose_log_from}")
        return options

    def within(self, name: str) -> Recovery:
        """Returns the same for a shard whose folder has this name in the folder."""
        if not self.folder:
            return self
        return dataclasses.replace(self, folder=os.path.join(self.folder, name))

    def native(self) -> dict[str, bytes | int]:
        """Returns its fields of `ShardOptions`."""
        return {
            "recovery_folder": _native.utf8(self.folder),
            "recovery": _native.utf8(self.source),
            "log_sync": _native.utf8(self.log_sync),
            "log_bytes": self.log_size,
            "lose_log_from": self.lose_log_from,
        }


def add_arguments(parser: argparse.ArgumentParser, without_folder: str) -> None:
    """Declares the options.

    Args:
        parser: Gets them.
        without_folder: What becomes of a shard without --recovery-folder.
    """
    parser.add_argument(
        "--recovery-folder",
        type=arguments.folder,
        metavar="FOLDER",
        help="where a shard keeps what it needs to come back after it was killed, on "
        f"a disk of this machine ({without_folder})",
    )
    parser.add_argument(
        "--recovery",
        choices=("log", "checkpoint"),
        help="from what it comes back: a log that has every change before it is "
        "acknowledged, so that nothing is lost (the default), or the last checkpoint",
    )
    parser.add_argument(
        "--log-sync",
        choices=("device", "system"),
        default="device",
        help="what a logged change survives: loss of power, or only the end of the "
        "process, which costs less (%(default)s)",
    )
    parser.add_argument(
        "--log-size",
        type=arguments.at_least(1),
        default=0,
        metavar="BYTES",
        help="by how much a log grows until its rows are written instead (1 GiB)",
    )
    parser.add_argument(
        "--lose-log-from",
        type=arguments.at_least(1),
        default=0,
        metavar="RECORD",
        help="start although the log is damaged at this record, which the error says, "
        "without it and all that came after it, for which there is no copy (default: "
        "a shard whose log is damaged does not start)",
    )


def of_arguments(args: argparse.Namespace) -> Recovery:
    """Gives what the options say."""
    return Recovery(
        folder=args.recovery_folder or "",
        source=args.recovery or "log",
        log_sync=args.log_sync,
        log_size=args.log_size,
        lose_log_from=args.lose_log_from,
    )
