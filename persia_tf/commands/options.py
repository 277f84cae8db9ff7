"""Declares the options of the commands that run servers.

Each option is declared once, in the tuple of `Option`s of its command. The tuple
determines the command line, its help, and the values that are passed to the core.
docs/commands.md is generated from the help.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any


class Option:
    """An option of a command.

    Example:

    >>> Option("--io-threads", type=int, default=2, help="threads (%(default)s)")

    Args:
        flag: The option's name on the command line: `"--io-threads"`.
        in_core: Whether the value is passed to the native core, under the option's
            `name`: see `persia_tf.native.servers`.
        **how: Keyword arguments of `argparse.ArgumentParser.add_argument`.
    """

    def __init__(self, flag: str, *, in_core: bool = True, **how: Any) -> None:
        self.flag = flag
        self.in_core = in_core
        self.how = how

    @property
    def name(self) -> str:
        """The option's name in Python and in the native core: `"io_threads"`."""
        return self.flag.removeprefix("--").replace("-", "_")


def declare(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Declares `options` as options of a parser."""
    for option in options:
        parser.add_argument(option.flag, **option.how)


def values(options: Iterable[Option], args: argparse.Namespace) -> dict[str, Any]:
    """Returns the options' values, by name."""
    return {option.name: getattr(args, option.name) for option in options}


def core_values(options: Iterable[Option], args: argparse.Namespace) -> dict[str, Any]:
    """Returns the values of the options that are passed to the core, by name."""
    return values((option for option in options if option.in_core), args)
