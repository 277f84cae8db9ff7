"""`cluster_state`: which shards a cluster has, how busy each is, and what moves.

Commands of servers' images use this module, so it must not import NumPy.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence

from persia_tf import errors
from persia_tf.resharding.watch import ClusterWatch, Member, MoveState

# A shard that ended just now, or whose standby takes its place, does not answer.
_AWAY = (
    errors.UnavailableError,
    errors.DeadlineExceededError,
    errors.FailedPreconditionError,
)

# The ids and the bytes that requests had.
_Counts = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class ShardState:
    """A shard of a cluster.

    Attributes:
        member: The shard's id.
        number: Its number for people.
        address: `"host:port"`.
        standby: `"host:port"` of its standby; `""` if it has none.
        answers: Whether it answers.
        slots: How many slots it owns.
        load: Its part of the load of all shards that answer, from 0 to 1; None if it
            does not answer, or nothing was asked of any shard.
    """

    member: int
    number: int
    address: str
    standby: str
    answers: bool
    slots: int
    load: float | None


@dataclasses.dataclass(frozen=True)
class RunningMove:
    """Slots that a shard takes over from another one.

    Attributes:
        source: The address of the shard that they come from.
        taker: The address of the shard that takes them over.
        slots: How many slots are to move.
        moved: How many have moved.
        rows: How many rows were sent, repeats included.
        bytes: How many bytes these rows have.
    """

    source: str
    taker: str
    slots: int
    moved: int
    rows: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class ClusterState:
    """The shards of a cluster.

    Attributes:
        cluster: A random number that identifies the cluster.
        epoch: A number that rises with each change of its shards and their slots.
        imbalance: How many times the mean the load of the busiest shard is; None if
            nothing was asked of any shard.
        measured_seconds: For how long the load was measured; None if it is that since
            each shard started.
        shards: The shards, in the order of their numbers.
        moves: The moves of slots that are under way.
    """

    cluster: int
    epoch: int
    imbalance: float | None
    measured_seconds: float | None
    shards: tuple[ShardState, ...]
    moves: tuple[RunningMove, ...]


def cluster_state(
    watch: ClusterWatch,
    away: Sequence[str] = (),
    measure_seconds: float | None = None,
) -> ClusterState | None:
    """Asks the shards of a cluster, and changes nothing.

    Args:
        watch: A `ClusterWatch` of some shards.
        away: `"host:port"` of shards that are known not to answer. Defaults to none.
        measure_seconds: For how long the load is measured. None for the load since each
            shard started, which needs no time. Defaults to None.

    Returns:
        The `ClusterState`; None if the shards belong to no cluster.

    Raises:
        PersiaError: if no shard answers, or they belong to several clusters.
    """
    look = watch.look(away)
    if look is None:
        return None
    counts = _counts(watch, look.members)
    if measure_seconds is not None:
        time.sleep(measure_seconds)
        before, counts = counts, _counts(watch, look.members)
        counts = {
            member: _since(before[member], now)
            for member, now in counts.items()
            if member in before
        }
    loads = _loads(counts)
    shards = tuple(
        ShardState(
            member=member.id,
            number=member.number,
            address=member.address,
            standby=member.standby,
            answers=member.id in counts,
            slots=look.slots[member.id],
            load=loads.get(member.id),
        )
        for member in look.members
    )
    return ClusterState(
        cluster=look.cluster,
        epoch=look.epoch,
        imbalance=max(loads.values()) * len(loads) if loads else None,
        measured_seconds=measure_seconds,
        shards=shards,
        moves=tuple(_moves(watch, look.members)),
    )


def _counts(watch: ClusterWatch, members: Iterable[Member]) -> dict[int, _Counts]:
    """What was asked of each shard that answers, since it started."""
    counts = {}
    for member in members:
        if not member.answers:
            continue
        try:
            ids, sizes = watch.slot_loads(member.id)
        except _AWAY:
            continue
        counts[member.id] = (sum(ids), sum(sizes))
    return counts


def _since(before: _Counts, after: _Counts) -> _Counts:
    # A shard that was restarted meanwhile counts from 0.
    if after < before:
        return after
    return after[0] - before[0], after[1] - before[1]


def _loads(counts: Mapping[int, _Counts]) -> dict[int, float]:
    """Each shard's part of the load; nothing if there is none."""
    ids = sum(each[0] for each in counts.values())
    sizes = sum(each[1] for each in counts.values())
    if not ids or not sizes:
        return {}
    return {
        member: (each[0] / ids + each[1] / sizes) / 2 for member, each in counts.items()
    }


def _moves(watch: ClusterWatch, members: Sequence[Member]) -> Iterable[RunningMove]:
    addresses = {member.id: member.address for member in members}
    for member in members:
        if not member.answers:
            continue
        try:
            progress = watch.progress(member.id)
        except _AWAY:
            continue
        if progress.state == MoveState.RUNNING:
            yield RunningMove(
                source=addresses.get(progress.source, str(progress.source)),
                taker=member.address,
                slots=progress.slots,
                moved=progress.moved,
                rows=progress.rows,
                bytes=progress.bytes,
            )
