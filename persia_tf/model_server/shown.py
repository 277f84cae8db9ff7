"""Shortens values that clients have sent, for use in error messages."""

from __future__ import annotations

import reprlib
from typing import Any

# The largest size of an error message. gRPC sends the message as metadata, and encodes
# each of its bytes in up to three; clients accept 8 KiB of metadata in all.
_MOST_BYTES = 2000

_CUT = " ... (cut)"

_SHORT = reprlib.Repr()
_SHORT.maxlist = 16
_SHORT.maxtuple = 16
_SHORT.maxstring = 128
_SHORT.maxother = 128


def shown(value: Any) -> str:
    """Returns the `repr` of a value, shortened if it is long or deep."""
    return _SHORT.repr(value)


def clipped(message: str) -> str:
    """Returns a message, truncated if it is long."""
    # A character takes at least one byte, so the first `_MOST_BYTES + 1` characters are
    # enough to decide whether the message is too long.
    encoded = message[: _MOST_BYTES + 1].encode(errors="replace")
    if len(encoded) <= _MOST_BYTES:
        return message
    return encoded[: _MOST_BYTES - len(_CUT)].decode(errors="ignore") + _CUT
