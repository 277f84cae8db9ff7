"""Files with a cluster's token, for this process and for as long as it needs them."""

from __future__ import annotations

import collections
import contextlib
import hashlib
import os
import secrets
import tempfile
import threading
from collections.abc import Iterator

# Part of the files' names, so that other users cannot predict them.
_UNKNOWN = secrets.token_hex(8)

_lock = threading.Lock()
# How many blocks use each file, whose name has the process's id: a forked process has
# files of its own. Guarded by _lock.
_users: collections.Counter[str] = collections.Counter()


@contextlib.contextmanager
def token_file(token: bytes) -> Iterator[str]:
    """Writes a token to a file that only this user may read, for a `with` block.

    A token has the same path in all blocks of this process. So all of them can share
    one session, whose options include the path.
    """
    digest = hashlib.sha256(token).hexdigest()[:16]
    name = f"persia-token-{os.getpid()}-{_UNKNOWN}-{digest}"
    path = os.path.join(tempfile.gettempdir(), name)
    with _lock:
        if not _users[path]:
            _write(path, token)
        _users[path] += 1
    try:
        yield path
    finally:
        with _lock:
            _users[path] -= 1
            if not _users[path]:
                os.unlink(path)


def _write(path: str, token: bytes) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(opened, "wb") as file:
            file.write(token)
    except OSError:  # Such as a full disk: the next call may write it.
        os.unlink(path)
        raise
