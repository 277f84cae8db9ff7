"""The token that shards, workers and programs of one cluster share.

The token is read from a file, since other users could see it on the command line or in
the environment. No error message contains the token.
"""

from __future__ import annotations

import os

from persia_tf import errors
from persia_tf.credentials import reading

TOKEN_FILE_VARIABLE = "PERSIA_AUTH_TOKEN_FILE"
LEAST_TOKEN_BYTES = 16
MOST_TOKEN_BYTES = 4096


def token_file(given: str | os.PathLike[str] | None) -> str:
    """Returns the path of the file that holds the token.

    Args:
        given: The file's path. None means the path in `$PERSIA_AUTH_TOKEN_FILE`; `""`
            means no token, even if that variable is set.

    Returns:
        The file's path, or `""` for no token.
    """
    if given is None:
        given = os.environ.get(TOKEN_FILE_VARIABLE, "")
    return os.fspath(given)


def read_token(path: str) -> bytes:
    """Reads a token file.

    Args:
        path: The file's path, or `""` for no token.

    Returns:
        The token, without the newline at the end; `b""` for the path `""`.

    Raises:
        InvalidArgumentError: If the file cannot be read, if its mode gives access to
            more users than `reading.read_secret` allows, or if its content is not a
            valid token.
    """
    if not path:
        return b""
    content = reading.read_secret("token file", path, MOST_TOKEN_BYTES + 2)
    token = content[:-1] if content.endswith(b"\n") else content
    token = token[:-1] if token.endswith(b"\r") else token
    _check_token(path, token)
    return token


def _check_token(path: str, token: bytes) -> None:
    if not LEAST_TOKEN_BYTES <= len(token) <= MOST_TOKEN_BYTES:
        size = f"{len(token)}" if len(token) <= MOST_TOKEN_BYTES else "more"
        raise errors.InvalidArgumentError(
            f"the token in {path} must have from {LEAST_TOKEN_BYTES} to "
            f"{MOST_TOKEN_BYTES} bytes, and has {size}: make one with "
            f"`(umask 077; openssl rand -hex 32 > {path})`"
        )
    if b"\0" in token or b"\n" in token:
        raise errors.InvalidArgumentError(
            f"the token in {path} must be one line without a NUL: make one with "
            f"`(umask 077; openssl rand -hex 32 > {path})`"
        )
