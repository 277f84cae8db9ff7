"""Limits of what is busy: cores, networks, threads, and single shards and rows."""

from __future__ import annotations

from collections.abc import Iterator

from persia_tf.simulation.busy import busy_parts
from persia_tf.simulation.limit import Facts, Limit

# What to do about a busy resource, by the first word that its name has.
_REMEDIES = {
    "dense": "have faster accelerators or networks, larger batches, a smaller dense "
    "part, or groups of trainers (docs/groups.md); lookups and updates do not limit "
    "this cluster. The model has the all-reduce after the dense part, not beside it",
    "I/O": "raise --io-threads (2), have more shards, or larger batches, since "
    "requests have costs besides their rows. A connection stays on one thread "
    "(cc/server/connection.h), so more threads than connections are idle",
    "threads": "have more trainers with smaller batches, or more embedding workers. A "
    "program writes all requests and reads all replies on one thread "
    "(cc/client/remote_service.h: io_threads), and has no option for more",
    "cores": "have machines with more cores, or more of them",
    "network": "send fewer bytes (`wire_dtype`), have more shards, or faster networks",
    "disks": "have more memory, so that fewer rows are read, or more shards",
}

_SLOWER = 2.0


def load_limits(facts: Facts) -> Iterator[Limit]:
    """Yields the limits of what is busy."""
    for name, part in busy_parts(facts.setup, facts.simulated).items():
        yield Limit(
            f"busy: {name}",
            part,
            1.0,
            "share",
            "the simulation, from costs and set-up",
            _REMEDIES[name.split()[0]],
            beyond="slower",
        )
    yield _busiest(facts)
    yield _hot_row(facts)
    yield _straggler(facts)


def _busiest(facts: Facts) -> Limit:
    busy = facts.simulated.busy
    most = max(part for name, part in busy.items() if _is_of_shards(name))
    number = facts.setup.busiest
    return Limit(
        "load of the busiest shard, over the mean",
        number,
        number / most if most else float("inf"),
        "",
        "the simulation: what makes the busiest of the shard's resources full",
        "`persia reshard` by load gives the busiest shard fewer slots "
        "(docs/resharding.md); a slot is the least that moves, so a hot row stays "
        "whole. `hot_rows` has programs answer lookups of hot rows from copies",
        beyond="slower",
    )


def _is_of_shards(name: str) -> bool:
    return name.endswith(("of shards", "out of shards", "into shards", "machine"))


def _hot_row(facts: Facts) -> Limit:
    """A row that every step of every trainer looks up, and updates."""
    costs = facts.costs
    seconds = costs.lookup.shard.row + costs.update.shard.row
    return Limit(
        "steps per second that look up the same row",
        facts.simulated.per_second * facts.setup.trainers,
        1 / seconds if seconds else float("inf"),
        "",
        "costs: a lookup and an update of one row, one after the other",
        "a row is on one shard, and its updates wait for the lock of its sub-shard "
        "(cc/store/sub_shard.h). `hot_rows` has lookups answered from copies; updates "
        "would have to be summed on the way, as embedding workers do not yet",
        beyond="slower",
    )


def _straggler(facts: Facts) -> Limit:
    return Limit(
        "time of a step if one shard takes twice as long, over the usual",
        facts.simulated.per_second / facts.slowed.per_second,
        _SLOWER,
        "",
        "the simulation with slowest=2; at the limit, the step waits for it all the "
        "time",
        "raise the staleness, which hides the wait of a lookup but not a shard that is "
        "full; move slots away from the shard (`persia reshard`). A lookup waits for "
        "all of its shards (cc/client/fan_out.h): asking a standby or replica instead "
        "would need copies that are as new as the shard",
        beyond="slower",
    )
