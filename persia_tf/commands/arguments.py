"""Values of the command line: what reads them, and says what is wrong with them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from persia_tf import addresses, auth, errors


def address_list(text: str) -> list[addresses.Address]:
    """Reads "host:port,host:port,..."."""
    try:
        return addresses.parse_list(text)
    except errors.InvalidArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_auth_token_file(parser: argparse.ArgumentParser) -> None:
    """Declares --auth-token-file."""
    parser.add_argument(
        "--auth-token-file",
        metavar="FILE",
        help="holds the token that every process of the cluster must have; its "
        f"owner's alone, chmod 600 (${auth.TOKEN_FILE_VARIABLE})",
    )


def port(text: str) -> int:
    """Reads a port; 0 is any free one."""
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"a port is from 0 to 65535, got {value}")
    return value


def folder(text: str) -> str:
    """Reads a folder's path, and makes the folder; gives its absolute path."""
    try:
        os.makedirs(text, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot be made: {error}") from error
    return os.path.abspath(text)


def at_least(least: int) -> Callable[[str], int]:
    """Gives a reader of integers from `least` on."""

    def integer(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
        return value

    return integer
