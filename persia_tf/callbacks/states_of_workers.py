"""The states of all workers of a job, as one.

Most of what workers have is the same on all of them, such as trained weights. So the
chief's state is stored whole, and for each other worker only what differs from it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable

import numpy as np

from persia_tf import errors
from persia_tf.callbacks.job_state import JobState
from persia_tf.layers.workers import Workers

_COUNT = "workers"
_DIGEST_BYTES = 16


def joined(workers: Workers, own: JobState) -> JobState:
    """Returns the state of all workers, on the chief.

    All workers must call it.

    Args:
        workers: The workers.
        own: The state of this worker.
    """
    own.facts[_COUNT] = workers.count
    if not workers.has_others:
        return own
    of_chief = _split(workers.gathered(_digests(own))[0])
    differing = {
        name: value
        for name, value in own.arrays.items()
        if _digest(name, value) not in of_chief
    }
    states = workers.gathered(JobState(differing, own.facts).to_bytes())
    others = {
        _name(index): np.frombuffer(state, np.uint8)
        for index, state in enumerate(states)
        if index > 0
    }
    return JobState({**own.arrays, **others}, own.facts)


def own_part(workers: Workers, state: JobState) -> JobState:
    """Returns this worker's part of a state; the chief's for workers that are new.

    Args:
        workers: The workers.
        state: What `joined` returned.
    """
    others = {_name(index) for index in range(1, count_of(state))}
    shared = {name: each for name, each in state.arrays.items() if name not in others}
    if _name(workers.index) not in others:
        return JobState(shared, state.facts)
    own = JobState.from_bytes(state.arrays[_name(workers.index)].tobytes())
    return JobState({**shared, **own.arrays}, own.facts)


def count_of(state: JobState) -> int:
    """Returns how many workers a state is of."""
    return state.facts.get(_COUNT, 1)


def restored_by_chief(workers: Workers, restore: Callable[[], str]) -> str | None:
    """Restores a checkpoint's rows once; returns its folder on each worker.

    Args:
        workers: The workers.
        restore: Restores rows, and returns the folder.

    Returns:
        The folder, or None if there is no checkpoint yet.
    """
    found = [""]

    def restore_once() -> None:
        if workers.is_chief:
            with contextlib.suppress(errors.NotFoundError):
                found[0] = restore()

    workers.together(restore_once)
    return workers.gathered(found[0].encode())[0].decode() or None


def _name(index: int) -> str:
    return f"worker/{index}"


def _digests(state: JobState) -> bytes:
    return b"".join(_digest(name, value) for name, value in state.arrays.items())


def _digest(name: str, value: np.ndarray) -> bytes:
    digest = hashlib.blake2b(name.encode(), digest_size=_DIGEST_BYTES)
    digest.update(f"{value.dtype}{value.shape}".encode())
    digest.update(np.ascontiguousarray(value).view(np.uint8))
    return digest.digest()


def _split(digests: bytes) -> set[bytes]:
    starts = range(0, len(digests), _DIGEST_BYTES)
    return {digests[start : start + _DIGEST_BYTES] for start in starts}
