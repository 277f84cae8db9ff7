"""Parsers and declarations of arguments that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from persia_tf import addresses, auth, errors, tls
from persia_tf.files import is_url

_FROM_ENVIRONMENT = f"${addresses.SHARDS_VARIABLE}"


def address_list(text: str) -> list[addresses.Address]:
    """Reads "host:port,host:port,..."."""
    try:
        return addresses.parse_list(text)
    except errors.InvalidArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def address(text: str) -> addresses.Address:
    """Reads one "host:port"."""
    found = address_list(text)
    if len(found) != 1:
        raise argparse.ArgumentTypeError(f"must be one HOST:PORT, got {text!r}")
    return found[0]


def add_shards(parser: argparse.ArgumentParser, name: str, text: str) -> None:
    """Declares an argument for a list of shards, by default those of the environment.

    Args:
        parser: The parser to add it to.
        name: The name of an option, or of an optional positional argument.
        text: Its help text.
    """
    parser.add_argument(
        name,
        type=_shards,
        default=_FROM_ENVIRONMENT,
        metavar="HOST:PORT,...",
        help=f"{text} (%(default)s)",
        **({} if name.startswith("-") else {"nargs": "?"}),
    )


def _shards(text: str) -> list[addresses.Address]:
    if text != _FROM_ENVIRONMENT:
        return address_list(text)
    listed = os.environ.get(addresses.SHARDS_VARIABLE, "")
    if not listed.strip():
        raise argparse.ArgumentTypeError(
            f"no shards are named: give HOST:PORT,..., or set {_FROM_ENVIRONMENT} to "
            "that"
        )
    try:
        return addresses.parse_list(listed)
    except errors.InvalidArgumentError as error:
        raise argparse.ArgumentTypeError(f"{_FROM_ENVIRONMENT}: {error}") from error


def add_auth_token_file(parser: argparse.ArgumentParser) -> None:
    """Declares --auth-token-file."""
    parser.add_argument(
        "--auth-token-file",
        metavar="FILE",
        help="holds the token that every process of the cluster must have; its "
        f"owner's alone, chmod 600 (${auth.TOKEN_FILE_VARIABLE})",
    )


def add_tls(parser: argparse.ArgumentParser) -> None:
    """Declares --tls-certificate, --tls-key and --tls-ca."""
    for name, text in (
        (
            "certificate",
            "this process's certificate, in PEM: with it, its key and an "
            "authority, connections are encrypted and both ends show one",
        ),
        (
            "key",
            "the certificate's key, in PEM without a password; its owner's alone, "
            "chmod 600",
        ),
        ("ca", "the authority that signs the peers' certificates, in PEM"),
    ):
        parser.add_argument(
            f"--tls-{name}",
            metavar="FILE",
            help=f"{text} (${tls.VARIABLES[name]})",
        )


def tls_of(args: argparse.Namespace) -> tls.TLS | None:
    """Returns the TLS of these options, with defaults from the environment."""
    return tls.of_options(args.tls_certificate, args.tls_key, args.tls_ca)


def port(text: str) -> int:
    """Reads a port; 0 means any free port."""
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"a port is from 0 to 65535, got {value}")
    return value


def folder(text: str) -> str:
    """Reads a folder's path; creates the folder and returns its absolute path."""
    if is_url(text):
        raise argparse.ArgumentTypeError(
            f"must be a folder of this machine, got {text!r}"
        )
    try:
        os.makedirs(text, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot be made: {error}") from error
    return os.path.abspath(text)


def folder_or_url(text: str) -> str:
    """Reads a folder as `folder` does, or a URL, which it returns unchanged."""
    return text if is_url(text) else folder(text)


def at_least(least: int) -> Callable[[str], int]:
    """Returns a parser of integers of at least `least`."""

    def integer(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
        return value

    return integer


def between(least: int, most: int) -> Callable[[str], int]:
    """Returns a parser of integers from `least` to `most`."""

    def integer(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"must be from {least} to {most}, got {value}"
            )
        return value

    return integer
