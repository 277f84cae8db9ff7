"""Parses and declares the arguments that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from persia_tf import errors
from persia_tf.base import addresses, checks, whole_numbers
from persia_tf.credentials import auth, tls
from persia_tf.files import is_url
from persia_tf.processes import memory

# The default of an option of type `shards`: the variable that lists the shards.
SHARDS_OF_ENVIRONMENT = f"${addresses.SHARDS_VARIABLE}"


def address_list(text: str) -> list[addresses.Address]:
    """Parses an argument of the form "host:port,host:port,..."."""
    return _addresses(text, "")


def _addresses(text: str, place: str) -> list[addresses.Address]:
    try:
        listed = addresses.parse_list(text)
        addresses.check_once(list(map(str, listed)))
    except errors.InvalidArgumentError as error:
        raise argparse.ArgumentTypeError(f"{place}{error}") from error
    return listed


def address(text: str) -> addresses.Address:
    """Parses an argument of the form "host:port"."""
    found = address_list(text)
    if len(found) != 1:
        raise argparse.ArgumentTypeError(f"must be one HOST:PORT, got {text!r}")
    return found[0]


def shards_of(text: str) -> dict[str, Any]:
    """Returns the declaration of an option for shards; its default is `$PERSIA_PS`.

    Example:

    >>> parser.add_argument("--ps", **shards_of("the shards to ask"))

    Args:
        text: The argument's help text.

    Returns:
        Keywords for `add_argument`.
    """
    return {
        "type": shards,
        "default": SHARDS_OF_ENVIRONMENT,
        "metavar": "HOST:PORT,...",
        "help": f"{text} (%(default)s)",
    }


def shards(text: str) -> list[addresses.Address]:
    """Parses "host:port,..."; replaces "$PERSIA_PS" with that variable's value."""
    if text != SHARDS_OF_ENVIRONMENT:
        return address_list(text)
    listed = os.environ.get(addresses.SHARDS_VARIABLE, "")
    if not listed.strip():
        raise argparse.ArgumentTypeError(
            "no shards are given: give HOST:PORT,..., or set "
            f"{SHARDS_OF_ENVIRONMENT} to it"
        )
    return _addresses(listed, f"{SHARDS_OF_ENVIRONMENT}: ")


def add_auth_token_file(parser: argparse.ArgumentParser) -> None:
    """Declares the option --auth-token-file."""
    parser.add_argument(
        "--auth-token-file",
        metavar="FILE",
        help="holds the token that every process of the cluster must have; readable by "
        "its owner only (chmod 600), or, if root owns it, by its group too "
        f"(${auth.TOKEN_FILE_VARIABLE})",
    )


def add_tls(parser: argparse.ArgumentParser) -> None:
    """Declares the options --tls-certificate, --tls-key and --tls-ca."""
    for name, text in (
        (
            "certificate",
            "this process's certificate, in PEM; with it, its key and an authority, "
            "connections are encrypted, and both ends must show a certificate",
        ),
        (
            "key",
            "the certificate's key, in PEM without a password; readable by its owner "
            "only (chmod 600), or, if root owns it, by its group too",
        ),
        ("ca", "the authority that signs the peers' certificates, in PEM"),
    ):
        parser.add_argument(
            f"--tls-{name}",
            metavar="FILE",
            help=f"{text} (${tls.VARIABLES[name]})",
        )


def tls_of(args: argparse.Namespace) -> tls.TLS | None:
    """Returns the `TLS` that the --tls options name, or else the environment."""
    return tls.of_options(args.tls_certificate, args.tls_key, args.tls_ca)


def add_rate(parser: argparse.ArgumentParser) -> None:
    """Declares `--rate`, the most bytes of rows that move to a shard per second."""
    parser.add_argument(
        "--rate",
        type=bytes_up_to(2**50),
        default=0,
        metavar="SIZE",
        help="the most bytes of rows that a shard receives per second, such as 100MiB; "
        "not for rows that training changes meanwhile (no limit)",
    )


def add_asked(parser: argparse.ArgumentParser) -> None:
    """Declares the options of commands that ask shards for their counters."""
    parser.add_argument(
        "shards",
        nargs="?",
        **shards_of(
            "the shards to ask, or embedding workers, which report their shards too"
        ),
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=5.0,
        metavar="SECONDS",
        help="how long to wait for their answers (%(default)g)",
    )
    add_auth_token_file(parser)
    add_tls(parser)


def port(text: str) -> int:
    """Parses a port number; 0 means any free port."""
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"must be from 0 to 65535, got {value}")
    return value


def folder(text: str) -> str:
    """Creates the folder that an argument names, and returns its absolute path."""
    if is_url(text):
        raise argparse.ArgumentTypeError(
            f"must be a folder of this machine, got {text!r}"
        )
    try:
        os.makedirs(text, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot be created: {error}") from error
    return os.path.abspath(text)


def folder_or_url(text: str) -> str:
    """Returns a URL unchanged; treats any other argument as `folder` does."""
    return text if is_url(text) else folder(text)


def file_to_create(text: str) -> Path:
    """Returns the path of a file that the command will create, if it can."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"there is no folder {str(path.parent)!r}: create it first, got {text!r}"
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(
            f"this user cannot create files in folder {str(path.parent)!r}: make it "
            f"writable, or give another, got {text!r}"
        )
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file, got the folder {text!r}")
    return path


def seconds(text: str) -> float:
    """Parses a timeout."""
    value = float(text)
    if not 0 < value <= checks.MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"must be above 0 and at most {checks.MOST_SECONDS:g}, got {text}"
        )
    return value


def bytes_up_to(most: int) -> Callable[[str], int]:
    """Returns a parser of sizes, such as "64MiB", of at most `most` bytes."""

    def size(text: str) -> int:
        value = memory.size(text)
        if value > most:
            raise argparse.ArgumentTypeError(
                f"must be at most {most} bytes, got {text}"
            )
        return value

    return size


def at_least(least: int) -> Callable[[str], int]:
    """Returns a parser of integers of at least `least`."""

    def integer(text: str) -> int:
        value = whole_numbers.parse(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
        return value

    return integer


def between(least: int, most: int) -> Callable[[str], int]:
    """Returns a parser of integers from `least` to `most`."""

    def integer(text: str) -> int:
        value = whole_numbers.parse(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"must be from {least} to {most}, got {value}"
            )
        return value

    return integer
