"""The speed of this machine, against that of the one whose costs were measured."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from persia_tf.simulation.costs import CallCosts, Costs, Work

MEASURED_KEY = "speed_seconds"
"""The key of `Costs.measured` with `speed_seconds()` of the measured machine."""

_REPEATS = 15
_SIZE = 1 << 20


def speed_seconds() -> float:
    """Returns how long this machine takes for a fixed piece of work.

    The work mixes integers and gathers numbers from memory, as a shard does to find
    rows. It does not sort: versions of NumPy sort in different ways. The time is that
    of this thread on a core, and the least of several, since other cores that are busy
    slow this one down: the simulator counts that by itself.
    """
    random = np.random.default_rng(0)
    keys = random.integers(2**63, size=_SIZE, dtype=np.uint64)
    rows = random.standard_normal(4 * _SIZE, dtype=np.float32)
    _work(keys, rows)  # Memory is touched for the first time.
    return min(_timed(keys, rows) for _ in range(_REPEATS))


def at_speed(costs: Costs, seconds: float) -> Costs:
    """Returns costs as they would be on a machine of another speed.

    Args:
        costs: The costs that were measured.
        seconds: `speed_seconds()` on the other machine.

    Returns:
        The costs with the times of work in proportion; unchanged if it is not known how
        fast the measured machine was.
    """
    known = costs.measured.get(MEASURED_KEY)
    if not known:
        return costs
    ratio = seconds / known
    return dataclasses.replace(
        costs,
        lookup=_scaled_call(costs.lookup, ratio),
        update=_scaled_call(costs.update, ratio),
        trainer=_scaled(costs.trainer, ratio),
        proxy_request=costs.proxy_request * ratio,
        proxy_byte=costs.proxy_byte * ratio,
    )


def _timed(keys: np.ndarray, rows: np.ndarray) -> float:
    begin = time.thread_time()
    _work(keys, rows)
    return time.thread_time() - begin


def _work(keys: np.ndarray, rows: np.ndarray) -> float:
    mixed = keys ^ (keys >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    return float(rows[mixed % np.uint64(len(rows))].sum())


def _scaled_call(call: CallCosts, ratio: float) -> CallCosts:
    works = {
        name: _scaled(getattr(call, name), ratio)
        for name in ("caller", "io", "shard", "worker")
    }
    return dataclasses.replace(call, **works)


def _scaled(work: Work, ratio: float) -> Work:
    return Work(*(each * ratio for each in dataclasses.astuple(work)))
