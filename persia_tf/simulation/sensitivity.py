"""How much the throughput depends on each assumption."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from persia_tf.simulation.costs import Costs, Work, measured_costs
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import simulate

_Changed = tuple[Setup, Costs]

# What a simulation may take: one of more requests has fewer steps.
_REQUESTS = 30_000
_MOST_STEPS = 200


@dataclasses.dataclass(frozen=True)
class Change:
    """What becomes of the throughput if an assumption is wrong.

    Attributes:
        name: The assumption.
        halved: The examples per second with half of it, over those with all of it,
            minus 1. None if that makes no sense.
        doubled: The same with twice as much.
    """

    name: str
    halved: float | None
    doubled: float | None

    @property
    def size(self) -> float:
        """The larger of both changes."""
        return max(abs(self.halved or 0.0), abs(self.doubled or 0.0))


def sensitivity(
    setup: Setup, costs: Costs | None = None, *, steps: int | None = None
) -> tuple[Change, ...]:
    """Simulates a set-up with half and with twice of each assumption.

    Values that do not change the throughput in the model are left out: of memory,
    checkpoints and failures.

    Args:
        setup: The cluster, and what its trainers do.
        costs: What work takes. Defaults to None: as measured.
        steps: How many steps of each trainer to simulate each time. Defaults to None:
            as many as take a second or two.

    Returns:
        The changes, the largest first.
    """
    costs = costs or measured_costs()
    usual = _rate(setup, costs, steps)
    changes = []
    for name, change in _CHANGES.items():
        parts: list[float | None] = []
        for times in (0.5, 2.0):
            try:
                changed = change(setup, costs, times)
            except ValueError:  # A value that a set-up cannot have.
                parts.append(None)
                continue
            if changed == (setup, costs):
                parts.append(None)
            else:
                parts.append(_rate(*changed, steps) / usual - 1)
        if any(part is not None for part in parts):
            changes.append(Change(name, *parts))
    return tuple(sorted(changes, key=lambda each: -each.size))


def steps_for(setup: Setup, requests: float = _REQUESTS) -> int:
    """Returns how many steps to simulate, besides the first ones.

    They are as many as have about so many requests, and more than updates may be late,
    so that some updates are over.
    """
    each = 2 * setup.trainers * (setup.shards + bool(setup.workers))
    first = warm_up_of(setup)
    return max(least_steps(setup), min(_MOST_STEPS, int(requests / each) - first))


def least_steps(setup: Setup) -> int:
    """Returns the least number of steps in which some updates end."""
    return setup.staleness + 2


def warm_up_of(setup: Setup) -> int:
    """Returns after how many steps a cluster does what it will do from then on."""
    return setup.staleness + 1


def _rate(setup: Setup, costs: Costs, steps: int | None) -> float:
    steps = steps_for(setup) if steps is None else max(steps, least_steps(setup))
    done = simulate(setup, costs=costs, steps=steps, warm_up=warm_up_of(setup))
    return done.per_second * setup.examples * setup.trainers


def _of_setup(name: str) -> Callable[[Setup, Costs, float], _Changed]:
    def change(setup: Setup, costs: Costs, times: float) -> _Changed:
        value = getattr(setup, name)
        new = value * times
        if isinstance(value, int):
            new = round(new)
        return dataclasses.replace(setup, **{name: new}), costs

    return change


def _ids(setup: Setup, costs: Costs, times: float) -> _Changed:
    ids, rows = setup.ids * times, setup.rows * times
    return dataclasses.replace(setup, ids=ids, rows=rows), costs


def _missing(setup: Setup, costs: Costs, times: float) -> _Changed:
    missing = (1 - setup.in_memory) * times
    return dataclasses.replace(setup, in_memory=1 - missing), costs


def _work(*names: str) -> Callable[[Setup, Costs, float], _Changed]:
    """Returns a change of what lookups and updates take on some threads."""

    def change(setup: Setup, costs: Costs, times: float) -> _Changed:
        kinds = {}
        for kind in ("lookup", "update"):
            of_kind = getattr(costs, kind)
            works = {name: _times(getattr(of_kind, name), times) for name in names}
            kinds[kind] = dataclasses.replace(of_kind, **works)
        return setup, dataclasses.replace(costs, **kinds)

    return change


def _workers_work(setup: Setup, costs: Costs, times: float) -> _Changed:
    if not setup.workers:
        return setup, costs
    return _work("worker")(setup, costs, times)


def _trainers_work(setup: Setup, costs: Costs, times: float) -> _Changed:
    return setup, dataclasses.replace(costs, trainer=_times(costs.trainer, times))


def _waking(setup: Setup, costs: Costs, times: float) -> _Changed:
    return setup, dataclasses.replace(costs, wake_seconds=costs.wake_seconds * times)


def _times(work: Work, times: float) -> Work:
    return Work(*(value * times for value in dataclasses.astuple(work)))


_CHANGES: dict[str, Callable[[Setup, Costs, float], _Changed]] = {
    "shards": _of_setup("shards"),
    "workers": _of_setup("workers"),
    "ids and rows of a step": _ids,
    "distinct rows of a step": _of_setup("rows"),
    "tables": _of_setup("tables"),
    "layers": _of_setup("layers"),
    "weights per row": _of_setup("dim"),
    "staleness": _of_setup("staleness"),
    "time of the dense part": _of_setup("dense_seconds"),
    "bytes of dense gradients": _of_setup("dense_bytes"),
    "cores of a machine": _of_setup("cores"),
    "rate of the network": _of_setup("network_bytes_per_second"),
    "delay of the network": _of_setup("delay_seconds"),
    "load of the busiest shard": _of_setup("busiest"),
    "slowness of one shard": _of_setup("slowest"),
    "rows that are not in memory": _missing,
    "work of shards": _work("shard"),
    "work of clients": _work("caller", "io"),
    "work of embedding workers": _workers_work,
    "work of trainers": _trainers_work,
    "time to wake a thread": _waking,
}
