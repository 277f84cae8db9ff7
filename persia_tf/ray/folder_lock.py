"""The lock on a cluster's folder of checkpoints, which its driver holds while it lives.

The lock is a file that names its holder. The machines that use the folder may have
neither the same time nor locks of files that work, so the holder changes the file every
few seconds. Whoever finds a file that does not change for `LEASE_SECONDS` takes it,
since its holder is dead. A holder that was only slow notices at its next change that it
has lost the lock, and saves no more checkpoints.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import secrets
import threading
import time
from typing import Protocol

from persia_tf import errors, files

_LOGGER = logging.getLogger("persia.ray")

# A file that has not changed for so long has no holder any more.
LEASE_SECONDS = 60.0
# How often a holder changes its file.
_BEAT_SECONDS = 10.0
# The time until the first change. If two clusters took the lock at the same moment, one
# of them notices that soon.
_FIRST_BEAT_SECONDS = 1.0
# How often a cluster looks that waits for the end of a lease.
_LOOK_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class Entry:
    """The contents of a lock's file.

    Attributes:
        holder: A random text, which identifies the holder.
        about: Who the holder is, for messages.
        beat: How often the holder has changed the file.
    """

    holder: str
    about: str
    beat: int = 0


def path_of(checkpoint_folder: str) -> str:
    """Returns the path of the lock's file, which is beside the folder."""
    root, _, name = checkpoint_folder.rpartition("/")
    return f"{root}/.{name}-lock"


def hold(path: str, entry: Entry, instead_of: Entry | None = None) -> Entry:
    """Writes an entry, unless somebody else holds the lock; returns what is there now.

    Args:
        path: The lock's file, whose folder is created if it does not exist.
        entry: What to write.
        instead_of: The entry of a dead holder, which may be replaced, too.

    Raises:
        PersiaError: If the file cannot be read or written.
    """
    there = _read(path)
    if there is None:
        return entry if _create(path, entry) else hold(path, entry)
    if there.holder == entry.holder or there == instead_of:
        files.write_file(path, _to_bytes(entry))
        return entry
    return there


def release(path: str, holder: str) -> None:
    """Removes the lock's file, if `holder` holds it.

    Raises:
        PersiaError: If the file cannot be read or removed.
    """
    there = _read(path)
    if there is not None and there.holder == holder:
        files.remove_file(path)


def _read(path: str) -> Entry | None:
    try:
        text = files.read_file(path)
    except errors.NotFoundError:
        return None
    try:
        return Entry(**json.loads(text))
    except (ValueError, TypeError):  # Damaged: as of a holder that may be alive.
        return Entry("", f"an unknown one (the file has {text[:80]!r})")


def _create(path: str, entry: Entry) -> bool:
    """Writes a file that does not exist; returns False if it exists now."""
    files.make_folder(os.path.dirname(path))
    if files.is_url(path):
        # Many object stores cannot refuse to replace: the first beat finds out.
        files.write_file(path, _to_bytes(entry))
        return True
    try:
        # Works over NFS. Whoever reads before the contents are complete sees an entry
        # that then changes, as that of a holder that is alive.
        with open(path, "xb") as file:
            file.write(_to_bytes(entry))
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        return False
    except OSError as error:
        raise errors.UnavailableError(
            f"cannot write {path}: {error.strerror}"
        ) from error
    return True


def _to_bytes(entry: Entry) -> bytes:
    return json.dumps(dataclasses.asdict(entry)).encode()


class LockFile(Protocol):
    """Calls the functions of this module on a machine that has the folder."""

    def hold(self, entry: Entry, instead_of: Entry | None) -> Entry:
        """See `hold`."""

    def release(self, holder: str) -> None:
        """See `release`."""


class FolderLock:
    """Takes the lock, and keeps it by a thread until `stop`. Thread-safe.

    Args:
        file: The lock's file.
        folder: The folder of checkpoints, for messages.
        about: Who this holder is, for the messages of others.

    Raises:
        FailedPreconditionError: If another cluster holds the lock.
        PersiaError: If the file cannot be read or written.
    """

    def __init__(self, file: LockFile, folder: str, about: str) -> None:
        self._file = file
        self._folder = folder
        self._lock = threading.Lock()
        # Both are guarded by _lock.
        self._entry = Entry(secrets.token_hex(16), about)
        self._taken_by: Entry | None = None
        self._take()
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="persia-ray-lock", daemon=True
        )
        self._thread.start()

    def check(self) -> None:
        """Raises an error unless this cluster still holds the lock, which it renews.

        Raises:
            FailedPreconditionError: If another cluster holds the lock.
            PersiaError: If the file cannot be read or written.
        """
        with self._lock:
            if self._taken_by is None:
                self._renew()
            if self._taken_by is not None:
                raise errors.FailedPreconditionError(
                    f"another cluster has taken the folder {self._folder}, as it may "
                    f"if this one gives no sign of life for {LEASE_SECONDS:g} s: "
                    f"{self._taken_by.about}. So this cluster saves no more "
                    "checkpoints there: start it again, with another `name=`"
                )

    def stop(self) -> None:
        """Ends the thread, and gives the lock back."""
        self._stopping.set()
        self._thread.join()
        try:
            self._file.release(self._entry.holder)
        except errors.PersiaError as error:
            _LOGGER.warning(
                "the lock of %s was not given back: the next cluster of that name "
                "waits for %g s. %s",
                *(self._folder, LEASE_SECONDS, error),
            )

    def _take(self) -> None:
        first = self._file.hold(self._entry, None)
        if first.holder == self._entry.holder:
            return
        _LOGGER.warning(
            "%s may be in use by another cluster (%s): waiting for up to %g s, to see "
            "whether that one is alive",
            *(self._folder, first.about, LEASE_SECONDS),
        )
        deadline = time.monotonic() + LEASE_SECONDS
        while True:
            time.sleep(_LOOK_SECONDS)
            is_over = time.monotonic() >= deadline
            there = self._file.hold(self._entry, first if is_over else None)
            if there.holder == self._entry.holder:
                return
            if there != first or is_over:
                raise errors.FailedPreconditionError(
                    f"another cluster that runs now saves its checkpoints in "
                    f"{self._folder}: {there.about}. Two clusters would remove each "
                    "other's checkpoints: give this one another `name=`, or stop the "
                    "other one"
                )

    def _renew(self) -> None:
        """Changes the file. The caller has _lock."""
        entry = dataclasses.replace(self._entry, beat=self._entry.beat + 1)
        there = self._file.hold(entry, None)
        if there.holder == entry.holder:
            self._entry = entry
        else:
            self._taken_by = there

    def _run(self) -> None:
        pause, failures = _FIRST_BEAT_SECONDS, 0
        while not self._stopping.wait(pause):
            pause = _BEAT_SECONDS
            try:
                self.check()
            except errors.FailedPreconditionError as error:
                _LOGGER.error("%s", error)
                return
            except errors.PersiaError as error:
                failures += 1
                if failures == 2:  # Once may be a shard that is being restarted.
                    _LOGGER.warning(
                        "cannot keep the lock of %s, and try again every %g s: %s",
                        *(self._folder, _BEAT_SECONDS, error),
                    )
            else:
                failures = 0
