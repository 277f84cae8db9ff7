"""Limits of what servers know of their cluster and tell of themselves."""

from __future__ import annotations

from collections.abc import Iterator

from persia_tf.native import core_limits
from persia_tf.simulation.limit import Facts, Limit

# cc/topology/topology.cc, `Topology::Encode`: its head and end, a member with two
# addresses of up to 32 bytes, and a run of neighboring slots.
_TOPOLOGY_BYTES = 24 + 8
_MEMBER_BYTES = 24 + 2 * 32
_RUN_BYTES = 12

# cc/service/service_stats.h: the counters of a process, of a table with its name and
# settings, of a type of request with the buckets of its latency, and of a program.
_PROCESS_BYTES = 28 * 8 + 64
_TABLE_BYTES = 10 * 8 + 320
_REQUEST_BYTES = (22 + 2) * 8 + 16
_REQUEST_TYPES = 16
_PROGRAM_BYTES = 4 * 8 + 32


def metadata_limits(facts: Facts) -> Iterator[Limit]:
    """Yields the limits of slots, of the topology and of statistics."""
    setup = facts.setup
    yield Limit(
        "shards, of slots",
        setup.shards,
        core_limits.SLOTS,
        "",
        "cc/base/slots.h: kSlots",
        "more shards than slots are impossible: a slot has one owner. kSlotBits is "
        "part of the protocol and of all file formats, so more slots need a new "
        "version of both; numbers of owners are of 16 bits (`SlotOwners`), and a "
        "topology has at most 65,535 members (kMostMembers)",
    )
    yield Limit(
        "shards that one byte can number",
        setup.shards,
        core_limits.MOST_BYTE_OWNERS,
        "",
        "cc/base/slots.h: kMostOfBytes",
        "nothing: above it, owners take 16 bits each, 32 KiB in all, and the removal "
        "of duplicates is 8% slower, since they fill a level-1 data cache",
        beyond="slower",
    )
    # At worst, each slot has moved by itself, and has another owner than the next.
    topology = _TOPOLOGY_BYTES + _MEMBER_BYTES * setup.shards
    topology += _RUN_BYTES * core_limits.SLOTS
    yield Limit(
        "bytes of the topology",
        topology,
        core_limits.MAX_BODY_BYTES,
        "bytes",
        "cc/topology/topology.cc: Encode; cc/wire/frame.h: kMaxBodyBytes",
        "send changes alone. Each program gets all of it after each move of slots, "
        "and merges it slot by slot",
    )
    shard = _PROCESS_BYTES + _TABLE_BYTES * setup.tables
    shard += _REQUEST_BYTES * _REQUEST_TYPES
    shard += _PROGRAM_BYTES * min(facts.clients, core_limits.MOST_TRAINERS)
    yield Limit(
        "bytes of the statistics of all shards",
        shard * setup.shards,
        core_limits.MAX_BODY_BYTES,
        "bytes",
        "cc/service/service_stats.h; cc/wire/frame.h: kMaxBodyBytes",
        "ask shards and not embedding workers, whose reply has the statistics of all "
        "of their shards; or reply in pages",
    )
    yield Limit(
        "programs in a shard's statistics",
        facts.setup.trainers,
        core_limits.MOST_TRAINERS,
        "",
        "cc/shard/trainers.h: kMost",
        "nothing: beyond it, the program that has been idle longest is not "
        "listed. Raise kMost",
        beyond="slower",
    )
    yield Limit(
        "tables",
        setup.tables,
        core_limits.MAX_TABLES,
        "",
        "persia_tf/commands/ps.py: --max-tables",
        "raise --max-tables. Each table takes 64 sub-shards on each shard, also if it "
        "is small: join small tables",
    )
