"""The log of `persia` commands that run servers: one line per event, to stderr."""

from __future__ import annotations

import argparse
import datetime
import logging
import sys

# The name of Abseil's logger.
_ABSL = "absl"

LEVELS = ("debug", "info", "warning", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the option --log-level."""
    parser.add_argument(
        "--log-level",
        choices=LEVELS,
        default="info",
        help="the lowest level to log, to stderr (%(default)s)",
    )


class Formatter(logging.Formatter):
    """Formats log records as `TIME LEVEL LOGGER PLACE: MESSAGE`.

    A record is one line, followed by a traceback if the record has one.

    Args:
        name: The name of the process's logger. Records of Abseil's logger, which most
            of this library uses, have this name too.

    Attributes:
        place: The address on which the process listens. It is empty before the process
            listens.
    """

    place = ""

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self._name = name

    def formatTime(  # noqa: N802
        self, record: logging.LogRecord, datefmt: str | None = None
    ) -> str:
        """Returns the time in ISO 8601 format, in this machine's time zone."""
        time = datetime.datetime.fromtimestamp(record.created).astimezone()
        return time.isoformat(timespec="milliseconds")

    def format(self, record: logging.LogRecord) -> str:
        """Returns the text of a log record."""
        name = record.name
        if name == _ABSL and self._name:
            name = self._name
        head = f"{self.formatTime(record)} {record.levelname} {name}"
        message = record.getMessage().replace("\n", " ")
        line = f"{head}{self.place and ' ' + self.place}: {message}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def start(level: str, name: str) -> Formatter:
    """Sets up logging for the whole process; replaces earlier handlers.

    Args:
        level: One of `LEVELS`.
        name: The name of the process's logger.

    Returns:
        The formatter of all log records from now on.
    """
    formatter = Formatter(name)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for each in list(root.handlers):
        root.removeHandler(each)
    root.addHandler(handler)
    root.setLevel(level.upper())
    return formatter
