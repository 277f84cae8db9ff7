"""The requests and bytes of one step of one trainer, for a number of shards."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from persia_tf.base import wire
from persia_tf.following import slots_of
from persia_tf.native.capi import SLOTS
from persia_tf.planning.observe import ObservedLookup, Sample

# Steps of a sample that are counted: more say little more of a mean.
_MOST_STEPS = 64


@dataclasses.dataclass(frozen=True)
class Traffic:
    """The mean requests and bytes of a step, between one trainer and all shards.

    Attributes:
        shards: The number of shards.
        lookup_requests: Lookup requests per step, over all shards.
        update_requests: Update requests per step, over all shards.
        lookup_bytes_out: Bytes per step of lookups, from the trainer.
        lookup_bytes_in: Bytes per step of their replies, to the trainer.
        update_bytes_out: Bytes per step of updates, from the trainer.
        update_bytes_in: Bytes per step of their replies, to the trainer.
        ids: Ids per step of lookups that each shard gets, float64, `(shards,)`.
        bytes: Bytes per step that each shard receives and sends, float64, `(shards,)`.
    """

    shards: int
    lookup_requests: float
    update_requests: float
    lookup_bytes_out: float
    lookup_bytes_in: float
    update_bytes_out: float
    update_bytes_in: float
    ids: np.ndarray
    bytes: np.ndarray

    @property
    def requests(self) -> float:
        """Requests per step, over all shards."""
        return self.lookup_requests + self.update_requests

    @property
    def bytes_out(self) -> float:
        """Bytes per step that the trainer sends."""
        return self.lookup_bytes_out + self.update_bytes_out

    @property
    def bytes_in(self) -> float:
        """Bytes per step that the trainer receives."""
        return self.lookup_bytes_in + self.update_bytes_in


def traffic_of(
    sample: Sample, shards: int, wire_dtypes: Mapping[str, str], sends_bags: bool
) -> Traffic:
    """Returns the traffic of a step.

    Args:
        sample: What was read of a sample.
        shards: The number of shards, each with as many slots, give or take one.
        wire_dtypes: The wire dtype of each session.
        sends_bags: Whether a trainer with one shard sends bags for the shard to pool,
            as it does unless it keeps copies of hot rows.

    Returns:
        The mean over steps of the sample.
    """
    steps = chosen_steps(sample.steps)
    sums = np.zeros((_COLUMNS, shards))
    for step in steps:
        for session, dtype in wire_dtypes.items():
            lookups = [each for each in sample.lookups if each.session == session]
            sums += _of_step(lookups, step, shards, dtype, sends_bags)
    means = sums / len(steps)
    totals = means.sum(axis=1)
    return Traffic(
        shards,
        *(float(total) for total in totals[:_IDS]),
        ids=means[_IDS],
        bytes=means[_LOOKUP_OUT:_IDS].sum(axis=0),
    )


# The rows of the sums.
_LOOKUPS, _UPDATES, _LOOKUP_OUT, _LOOKUP_IN, _UPDATE_OUT, _UPDATE_IN, _IDS = range(7)
_COLUMNS = 7


@dataclasses.dataclass(frozen=True)
class _Sent:
    """The ids of one table that a message carries, by shard.

    Attributes:
        dim: Weights per vector.
        ids: The ids for each shard.
        vectors: The number of vectors for each shard.
        bags: Whether the ids are those of bags, which the shard pools.
    """

    dim: int
    ids: Sequence[np.ndarray]
    vectors: Sequence[int]
    bags: bool


def chosen_steps(steps: int) -> list[int]:
    """Returns which of a sample's steps are counted: all, if they are not many."""
    places = np.linspace(0, steps - 1, min(steps, _MOST_STEPS))
    return sorted(set(places.round().astype(int).tolist()))


def _of_step(
    lookups: list[ObservedLookup], step: int, shards: int, dtype: str, sends_bags: bool
) -> np.ndarray:
    sums = np.zeros((_COLUMNS, shards))
    pools = sends_bags and shards == 1
    sent = {id(each): _sent(each, step, shards, dtype, pools) for each in lookups}
    # Layers that train share a request, and frozen layers share another one.
    for trained in (True, False):
        group = [sent[id(each)] for each in lookups if each.trained is trained]
        if not group:
            continue
        for shard in _with_work(group, shards):
            sums[_LOOKUPS, shard] += 1
            sums[_LOOKUP_OUT, shard] += wire.LOOKUP_BYTES
            sums[_LOOKUP_IN, shard] += wire.LOOKUP_REPLY_BYTES
            for table in group:
                sums[_LOOKUP_OUT, shard] += wire.LOOKUP_TABLE_BYTES
                sums[_LOOKUP_OUT, shard] += _ids_bytes(table, shard, dtype)
                sums[_LOOKUP_IN, shard] += wire.vectors_bytes(
                    table.vectors[shard], table.dim, dtype
                )
                sums[_IDS, shard] += len(table.ids[shard])
    updates = _updates([each for each in lookups if each.trained], sent, step, shards)
    if updates:
        for shard in _with_work(updates, shards):
            sums[_UPDATES, shard] += 1
            sums[_UPDATE_OUT, shard] += wire.update_bytes()
            sums[_UPDATE_IN, shard] += wire.UPDATE_REPLY_BYTES
            for table in updates:
                own = wire.gradients_dtype(dtype, table.bags)
                sums[_UPDATE_OUT, shard] += wire.UPDATE_TABLE_BYTES
                sums[_UPDATE_OUT, shard] += _ids_bytes(table, shard, own)
                sums[_UPDATE_OUT, shard] += wire.vectors_bytes(
                    table.vectors[shard], table.dim, own
                )
    return sums


def _with_work(tables: list[_Sent], shards: int) -> list[int]:
    """Returns the shards that get a request: those with a vector, or else the first."""
    busy = [s for s in range(shards) if any(each.vectors[s] for each in tables)]
    return busy or [0]


def _ids_bytes(table: _Sent, shard: int, dtype: str) -> int:
    offsets = wire.offsets_bytes(table.vectors[shard]) if table.bags else 0
    return wire.ids_bytes(table.ids[shard], dtype) + offsets


def _sent(
    lookup: ObservedLookup, step: int, shards: int, dtype: str, pools: bool
) -> _Sent:
    ids, bags = lookup.ids[step], lookup.bags[step]
    unique = np.unique(ids)
    if lookup.combiner != "none" and pools:
        width = wire.id_width(unique, dtype)
        of_bags = len(ids) * width + wire.encoded_bytes(bags, lookup.dim, dtype)
        of_rows = len(unique) * width
        of_rows += wire.encoded_bytes(len(unique), lookup.dim, dtype)
        if of_bags + 4 * (bags + 1) < of_rows:
            return _Sent(lookup.dim, [ids], [bags], True)
    return _by_shard(unique, lookup.dim, shards)


def _by_shard(unique: np.ndarray, dim: int, shards: int) -> _Sent:
    owners = owners_of(unique, shards)
    own = [unique[owners == shard] for shard in range(shards)]
    return _Sent(dim, own, [len(each) for each in own], False)


def owners_of(ids: np.ndarray, shards: int) -> np.ndarray:
    """Returns the shard of each id, if all shards have as many slots."""
    return slots_of(ids).astype(np.int64) * shards // SLOTS


def _updates(
    lookups: list[ObservedLookup], sent: dict[int, _Sent], step: int, shards: int
) -> list[_Sent]:
    """Joins the lookups of each table: an update has each table once."""
    by_table: dict[str, list[ObservedLookup]] = {}
    for each in lookups:
        by_table.setdefault(each.table, []).append(each)
    updates = []
    for layers in by_table.values():
        parts = [sent[id(each)] for each in layers]
        one_kind = len({each.combiner for each in layers}) == 1
        if len(parts) == 1:
            updates.append(parts[0])
        elif one_kind and all(part.bags for part in parts):
            ids = np.concatenate([part.ids[0] for part in parts])
            vectors = sum(part.vectors[0] for part in parts)
            updates.append(_Sent(parts[0].dim, [ids], [vectors], True))
        else:
            ids = np.unique(np.concatenate([each.ids[step] for each in layers]))
            updates.append(_by_shard(ids, parts[0].dim, shards))
    return updates
