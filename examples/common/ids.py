"""64-bit ids of strings, without a vocabulary."""

import hashlib

# Never the id of a string: layers treat it as padding.
PADDING = 0


def string_id(text: str) -> int:
    """Returns a string's id: the same on every machine, from 1 to 2^63 - 1."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return 1 + int.from_bytes(digest, "little") % (2**63 - 1)
