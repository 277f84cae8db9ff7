"""What `persia ps`, `worker` and `launch` log: to stderr, one line an event."""

from __future__ import annotations

import argparse
import datetime
import logging
import sys

LEVELS = ("debug", "info", "warning", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares --log-level."""
    parser.add_argument(
        "--log-level",
        choices=LEVELS,
        default="info",
        help="what to log at least, to stderr (%(default)s)",
    )


class Formatter(logging.Formatter):
    """`TIME LEVEL LOGGER PLACE: MESSAGE`, in one line unless there is a traceback.

    Attributes:
        place: Where the process listens, once it does.
    """

    place = ""

    def formatTime(  # noqa: N802
        self, record: logging.LogRecord, datefmt: str | None = None
    ) -> str:
        """Gives the time as ISO 8601 has it, in this machine's zone."""
        time = datetime.datetime.fromtimestamp(record.created).astimezone()
        return time.isoformat(timespec="milliseconds")

    def format(self, record: logging.LogRecord) -> str:
        """Gives the line."""
        head = f"{self.formatTime(record)} {record.levelname} {record.name}"
        message = record.getMessage().replace("\n", " ")
        line = f"{head}{self.place and ' ' + self.place}: {message}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def start(level: str) -> Formatter:
    """Has the whole process log so, whoever logged otherwise before.

    Args:
        level: One of `LEVELS`.

    Returns:
        What formats all lines from now on.
    """
    formatter = Formatter()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for each in list(root.handlers):
        root.removeHandler(each)
    root.addHandler(handler)
    root.setLevel(level.upper())
    return formatter
