"""What came from a client, as messages show it: short, however long it was."""

from __future__ import annotations

import reprlib
from typing import Any

# gRPC sends a message in at most three bytes for each of its own, among metadata that
# clients take 8 KiB of.
_MOST_BYTES = 2000

_CUT = " ... (cut)"

_SHORT = reprlib.Repr()
_SHORT.maxlist = 16
_SHORT.maxtuple = 16
_SHORT.maxstring = 128
_SHORT.maxother = 128


def shown(value: Any) -> str:
    """Returns `repr` of a value, cut in the middle where it is long or deep."""
    return _SHORT.repr(value)


def clipped(message: str) -> str:
    """Returns a message, cut at its end where it is long."""
    # A character has a byte at least, so no more of it need be encoded.
    encoded = message[: _MOST_BYTES + 1].encode(errors="replace")
    if len(encoded) <= _MOST_BYTES:
        return message
    return encoded[: _MOST_BYTES - len(_CUT)].decode(errors="ignore") + _CUT
