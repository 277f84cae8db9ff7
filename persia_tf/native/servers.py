"""Starts servers of the native core in this process, with options by name."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from persia_tf import errors
from persia_tf.native import capi

# The kinds of servers, as in cc/capi/persia.h.
SHARD = 0
WORKER = 1


def start(
    kind: int,
    options: Mapping[str, Any],
    events: capi.EventsHandle | None = None,
) -> capi.ServerHandle:
    """Starts a server, which serves until `persia_server_free`.

    Example:

    >>> handle = start(SHARD, {"port": 7000, "io_threads": 4})
    >>> capi.library().persia_server_free(handle)

    Args:
        kind: `SHARD` or `WORKER`.
        options: The values of options, by the names in cc/capi/server_options.h: texts,
            bytes, numbers, bools, or lists of texts. None selects the core's default.
        events: The log to which the server reports; None for no log.

    Returns:
        The server's handle.

    Raises:
        InvalidArgumentError: If an option does not exist, or its value is invalid.
        PersiaError: If the server cannot listen, or cannot recover its rows.
    """
    given = [
        capi.Option(capi.utf8(name), _text(value))
        for name, value in options.items()
        if value is not None
    ]
    handle = capi.ServerHandle()
    capi.library().persia_server_start(
        *(kind, (capi.Option * len(given))(*given), len(given), events),
        ctypes.byref(handle),
    )
    return handle


def option_names(kind: int) -> list[str]:
    """Returns the names of the core's options for a kind of server."""
    names: list[str] = []
    name = ctypes.c_char_p()
    while True:
        try:
            capi.library().persia_server_option(*(kind, len(names), ctypes.byref(name)))
        except errors.NotFoundError:
            return names
        names.append((name.value or b"").decode())


def _text(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        value = int(value)
    elif isinstance(value, list):
        value = ",".join(map(str, value))
    return capi.utf8(str(value))
