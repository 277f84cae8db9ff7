"""Options of `persia ps` and `persia launch` for recovery after a shard was killed."""

from __future__ import annotations

import argparse
import dataclasses
import os

from persia_tf import _native
from persia_tf.commands import arguments


@dataclasses.dataclass(frozen=True)
class Recovery:
    """From what a shard recovers, and where that is stored.

    Attributes:
        folder: A folder of this shard only, on this machine; `""`: the shard does not
            recover its rows.
        source: `"log"`: a log of every change; `"checkpoint"`: the last checkpoint.
        log_sync: What a logged change survives: `"device"`, loss of power;
            `"system"`, only the end of the process.
        log_size: By how many bytes a log grows until a new log base, a snapshot of the
            rows, replaces it; 0: the default.
        lose_log_from: The number of a damaged log record: it and all later records are
            given up; 0: none.
    """

    folder: str = ""
    source: str = "log"
    log_sync: str = "device"
    log_size: int = 0
    lose_log_from: int = 0

    def options(self) -> list[str]:
        """Returns the options of `persia ps`."""
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
        """Returns a copy for a shard with the subfolder of this name."""
        if not self.folder:
            return self
        return dataclasses.replace(self, folder=os.path.join(self.folder, name))

    def native(self) -> dict[str, bytes | int]:
        """Returns the corresponding fields of `ShardOptions`."""
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
        parser: The parser to add them to.
        without_folder: A help text: what happens without --recovery-folder.
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
    """Returns the values of the options."""
    return Recovery(
        folder=args.recovery_folder or "",
        source=args.recovery or "log",
        log_sync=args.log_sync,
        log_size=args.log_size,
        lose_log_from=args.lose_log_from,
    )
