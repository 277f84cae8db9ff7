"""What operators watch in a cluster, computed from two samples of its statistics."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from persia_tf import stats
from persia_tf.stats import ProcessStats, RequestStats, TableStats


class Sample(NamedTuple):
    """The statistics of a cluster at one moment.

    Attributes:
        seconds: The time of the sample, on a clock that only differences are taken of.
        told: The statistics of each server that answered; those of an embedding
            worker are followed by those of its shards.
        down: The address of each server that did not answer, and why.
    """

    seconds: float
    told: Sequence[Sequence[ProcessStats]]
    down: Sequence[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class ServerView:
    """One server. Rates are per second, over the time between two samples.

    Attributes:
        address: The server's "host:port".
        role: "shard", "replica" or "worker"; "" if it is down.
        down: Why the server does not answer; "" if it does.
        lookups: Lookups per second.
        updates: Updates per second.
        bytes_in: Bytes of requests per second.
        bytes_out: Bytes of replies per second.
        lookup_p50: Median time of a lookup, in seconds; None without lookups.
        lookup_p99: 99th percentile of it.
        update_p99: 99th percentile of the time of an update.
        failed: Requests answered with an error, per second.
        stats: The server's statistics; None if it is down.
    """

    address: str
    role: str = ""
    down: str = ""
    lookups: float = 0.0
    updates: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    lookup_p50: float | None = None
    lookup_p99: float | None = None
    update_p99: float | None = None
    failed: float = 0.0
    stats: ProcessStats | None = None


@dataclasses.dataclass(frozen=True)
class TableView:
    """One table, summed over the shards. Rates are per second.

    Attributes:
        name: The table's full name.
        dim: Weights per row.
        rows: Number of rows.
        bytes: Memory of rows, optimizer state and index.
        load: The share of the index's slots that have a row.
        looked_up: Ids looked up per second.
        hit_rate: The share of these that had a row; None without lookups.
        updated: Gradients applied per second.
        evicted: Rows evicted per second.
        fullest: The rows of the fullest shard, relative to the mean of all shards.
    """

    name: str
    dim: int
    rows: int
    bytes: int
    load: float
    looked_up: float
    hit_rate: float | None
    updated: float
    evicted: float
    fullest: float


@dataclasses.dataclass(frozen=True)
class TrainerView:
    """One program that trains.

    Attributes:
        program: "host:pid".
        updates: Updates per second on the shard that gets most of them.
        staleness: How many steps were missing from the rows of its newest batch.
        staleness_max: The maximum of that since the shards started.
        idle: Seconds since its last update.
    """

    program: str
    updates: float
    staleness: int
    staleness_max: int
    idle: float


@dataclasses.dataclass(frozen=True)
class ClusterView:
    """A cluster between two samples.

    Attributes:
        seconds: The time between the samples; 0 if there is only one.
        servers: The servers, in the order in which they were asked, each once.
        tables: The tables, by name.
        trainers: The programs that train, the most recently active first.
    """

    seconds: float
    servers: tuple[ServerView, ...]
    tables: tuple[TableView, ...]
    trainers: tuple[TrainerView, ...]


def cluster_view(before: Sample | None, now: Sample) -> ClusterView:
    """Computes a view; without a sample `before`, all rates are 0."""
    seconds = now.seconds - before.seconds if before else 0.0
    rates = _Rates(_by_address(before), seconds)
    present = _by_address(now)
    servers = [rates.server(each) for each in present.values()]
    servers += [ServerView(address, down=why) for address, why in now.down]
    shards = [each for each in present.values() if each.role == "shard"]
    return ClusterView(
        seconds,
        tuple(servers),
        tuple(rates.tables(shards)),
        tuple(rates.trainers(shards)),
    )


def quantile(request: RequestStats, share: float) -> float | None:
    """Returns the time, in seconds, that a share of the requests did not exceed.

    The time is interpolated linearly within its bucket, as Prometheus's
    `histogram_quantile` does. None if there are no requests.
    """
    wanted = share * request.count
    below, lower = 0, 0.0
    for bound, count in zip(stats.bucket_bounds(), request.buckets):
        if count and below + count >= wanted:
            if math.isinf(bound):
                return lower
            return lower + (bound - lower) * (wanted - below) / count
        below, lower = below + count, bound
    return None


class _Rates:
    """Computes rates from the increase of counters since an earlier sample."""

    def __init__(self, before: dict[str, ProcessStats], seconds: float) -> None:
        self._before = before
        self._seconds = seconds

    def server(self, now: ProcessStats) -> ServerView:
        before = self._before.get(now.address)
        requests = {each.request: each for each in _new_requests(before, now)}
        lookup, update = requests.get("lookup"), requests.get("update")
        known = before or now
        return ServerView(
            address=now.address,
            role=now.role,
            lookups=self._per_second(lookup.count if lookup else 0),
            updates=self._per_second(update.count if update else 0),
            bytes_in=self._rate(known.bytes_in, now.bytes_in),
            bytes_out=self._rate(known.bytes_out, now.bytes_out),
            lookup_p50=quantile(lookup, 0.5) if lookup else None,
            lookup_p99=quantile(lookup, 0.99) if lookup else None,
            update_p99=quantile(update, 0.99) if update else None,
            failed=self._per_second(sum(each.failed for each in requests.values())),
            stats=now,
        )

    def tables(self, shards: Sequence[ProcessStats]) -> Iterable[TableView]:
        parts: dict[str, list[tuple[TableStats, TableStats]]] = {}
        for shard in shards:
            before = self._before.get(shard.address)
            known = {table.name: table for table in before.tables} if before else {}
            for table in shard.tables:
                parts.setdefault(table.name, []).append(
                    (known.get(table.name, table), table)
                )
        for _, pairs in sorted(parts.items()):
            yield self._table(pairs)

    def _table(self, pairs: Sequence[tuple[TableStats, TableStats]]) -> TableView:
        now = [table for _, table in pairs]

        def grown(counter: str) -> int:
            return sum(
                _increase(getattr(old, counter), getattr(new, counter))
                for old, new in pairs
            )

        rows = sum(table.rows for table in now)
        slots = sum(table.index_slots for table in now)
        looked_up = grown("rows_looked_up")
        return TableView(
            name=now[0].name,
            dim=now[0].dim,
            rows=rows,
            bytes=sum(table.bytes for table in now),
            load=rows / slots if slots else 0.0,
            looked_up=self._per_second(looked_up),
            hit_rate=grown("rows_found") / looked_up if looked_up else None,
            updated=self._per_second(grown("rows_updated")),
            evicted=self._per_second(grown("evictions")),
            fullest=max(t.rows for t in now) * len(now) / rows if rows else 1.0,
        )

    def trainers(self, shards: Sequence[ProcessStats]) -> Iterable[TrainerView]:
        found: dict[str, TrainerView] = {}
        for shard in shards:
            before = self._before.get(shard.address)
            known = {t.program: t for t in before.trainers} if before else {}
            for trainer in shard.trainers:
                if trainer.may_have_ended:
                    continue
                old = known.get(trainer.program)
                # A program that is new to the shard began in the meantime.
                base = 0 if old is None and before else (old or trainer).updates
                here = TrainerView(
                    trainer.program,
                    self._rate(base, trainer.updates),
                    trainer.staleness,
                    trainer.staleness_max,
                    trainer.idle_millis / 1000,
                )
                so_far = found.get(trainer.program, here)
                found[trainer.program] = TrainerView(
                    trainer.program,
                    max(so_far.updates, here.updates),
                    max(so_far.staleness, here.staleness),
                    max(so_far.staleness_max, here.staleness_max),
                    min(so_far.idle, here.idle),
                )
        return sorted(found.values(), key=lambda trainer: trainer.idle)

    def _rate(self, before: int, now: int) -> float:
        return self._per_second(_increase(before, now))

    def _per_second(self, count: int) -> float:
        return count / self._seconds if self._seconds else 0.0


def _increase(before: int, now: int) -> int:
    """Returns a counter's increase; a restarted process counts from 0 again."""
    return now - before if now >= before else now


def _new_requests(
    before: ProcessStats | None, now: ProcessStats
) -> Iterable[RequestStats]:
    """Yields the requests since `before`; none if that is unknown."""
    if before is None:
        return
    known = {each.request: each for each in before.requests}
    for request in now.requests:
        old = known.get(request.request)
        if old is None or old.count > request.count:
            yield request
            continue
        yield RequestStats(
            request.request,
            request.failed - old.failed,
            request.seconds - old.seconds,
            tuple(new - old for new, old in zip(request.buckets, old.buckets)),
        )


def _by_address(sample: Sample | None) -> dict[str, ProcessStats]:
    told = itertools.chain(*sample.told) if sample else ()
    return {process.address: process for process in stats.each_once(told)}
