"""Limits of connections and of the messages on them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from persia_tf.native import core_limits
from persia_tf.simulation.limit import Facts, Limit
from persia_tf.simulation.messages import LOOKUP, UPDATE, sizes_of

# What a shard has open besides connections: the listeners, its log, its base, and what
# operators ask.
_OTHER_FILES = 32


def connection_limits(facts: Facts) -> Iterator[Limit]:
    """Yields the limits of connections, open files and messages."""
    yield _connections("a shard", facts.clients)
    workers = facts.setup.workers
    if workers:
        of_worker = math.ceil(facts.setup.trainers / workers)
        yield _connections("an embedding worker", of_worker)
    yield _open_files(facts)
    yield _in_flight(facts)
    yield from _messages(facts)


def _connections(server: str, number: int) -> Limit:
    return Limit(
        f"connections of {server}",
        number,
        core_limits.MAX_CONNECTIONS,
        "",
        "cc/server/server.h: max_connections",
        "raise --max-connections, or put embedding workers between, so that a shard "
        "has a connection for each worker and not for each trainer. A program has a "
        "connection of its own to each server (cc/client/channel.h); beyond workers, "
        "the programs of a machine would have to share one",
    )


def _open_files(facts: Facts) -> Limit:
    return Limit(
        "open files of a shard",
        facts.clients + _OTHER_FILES,
        facts.operation.open_files,
        "",
        "the process's limit of open files (assumed)",
        "raise the hard limit, as by `ulimit -Hn`: `persia ps` raises its soft limit "
        "itself (persia_tf/processes/descriptors.py)",
    )


def _in_flight(facts: Facts) -> Limit:
    setup = facts.setup
    steps = setup.staleness + 1
    programs = math.ceil(setup.trainers / setup.workers) if setup.workers else 1
    return Limit(
        "requests in flight of a connection",
        programs * steps,
        core_limits.MAX_IN_FLIGHT,
        "",
        "cc/server/server.h: max_in_flight",
        "have more embedding workers, or a lower staleness; beyond the limit the "
        "server reads no further request of the connection. `max_in_flight` has no "
        "option of `persia ps` yet, and a worker has one connection to each shard",
        beyond="slower",
    )


def _messages(facts: Facts) -> Iterator[Limit]:
    setup = facts.setup
    share = min(setup.busiest / setup.shards, 1.0)
    # With workers, the messages of trainers are larger: they are not split.
    of_trainer = 1.0 if setup.workers else share
    kinds = (LOOKUP, UPDATE)
    largest = max(
        max(size.request, size.reply)
        for size in (sizes_of(kind, setup, setup.rows * of_trainer) for kind in kinds)
    )
    yield Limit(
        "bytes of a message",
        largest,
        core_limits.MAX_BODY_BYTES,
        "bytes",
        "cc/wire/frame.h: kMaxBodyBytes",
        "make batches smaller, or have more shards. A longer body needs another "
        "protocol version, since both ends refuse it before they read it",
    )
    # A step in flight has a lookup or an update in flight.
    held = max(
        size.request + size.reply
        for size in (sizes_of(kind, setup, setup.rows * share) for kind in kinds)
    )
    yield Limit(
        "memory of requests in progress on a shard",
        setup.trainers * (setup.staleness + 1) * held,
        core_limits.MAX_UNWRITTEN_TOTAL_BYTES,
        "bytes",
        "cc/server/server.h: max_unwritten_total_bytes",
        "have more shards, smaller batches or a lower staleness; beyond the limit "
        "requests wait (cc/server/reply_budget.h), they do not fail. "
        "`max_unwritten_total_bytes` has no option of `persia ps` yet",
        beyond="slower",
    )
    yield Limit(
        "ids of a request",
        setup.rows * of_trainer,
        core_limits.MAX_REQUEST_IDS,
        "",
        "cc/wire/request_limits.h: ids",
        "raise --max-request-ids; above 2^32, `IdGroups` (cc/store/id_groups.h) would "
        "need wider numbers",
    )
    yield Limit(
        "tables of a request",
        setup.tables,
        core_limits.MAX_REQUEST_TABLES,
        "",
        "cc/wire/request_limits.h: tables",
        "raise --max-request-tables",
    )
