"""Counters of parameter server shards and of their tables."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from persia_tf.credentials import auth
from persia_tf.credentials import tls as tls_lib
from persia_tf.native import capi

# An idle program may have ended. After this time it is not shown any more, so that
# ended programs do not pile up in Prometheus and in `persia top`.
_MOST_IDLE_SECONDS = 600.0

# The value of the core's `behind_millis` for a replica that never had all rows.
_NEVER_COMPLETE = 2**64 - 1


@dataclasses.dataclass(frozen=True)
class TableStats:
    """One shard's part of a table.

    Attributes:
        name: The table's full name.
        dim: Weights per row.
        rows: Number of rows.
        bytes: Allocated memory of rows, optimizer state and index.
        index_slots: Number of slots in the index, one per row that it can hold.
        rows_looked_up: Number of ids in all lookups.
        rows_found: How many of these ids had a row.
        rows_updated: Number of gradients applied.
        nonfinite_gradients: Number of gradients skipped because of a NaN or infinity.
        absent_gradients: Number of gradients skipped because their id had no row.
        evictions: Number of rows evicted.
        refused: Number of ids in lookups that admission refused.
    """

    name: str
    dim: int
    rows: int
    bytes: int
    index_slots: int
    rows_looked_up: int
    rows_found: int
    rows_updated: int
    nonfinite_gradients: int
    absent_gradients: int
    evictions: int
    refused: int


@dataclasses.dataclass(frozen=True)
class RequestStats:
    """The requests of one type that a server answered.

    Attributes:
        request: The type, such as "lookup", "update" or "checkpoint".
        failed: How many of them were answered with an error.
        seconds: The sum of the requests' times, each from the arrival of the request
            until its reply was ready.
        buckets: The number of requests whose time was above the bound of the bucket
            before, and up to the bucket's own bound: see `bucket_bounds`.
    """

    request: str
    failed: int
    seconds: float
    buckets: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many requests were answered."""
        return sum(self.buckets)


@dataclasses.dataclass(frozen=True)
class TrainerStats:
    """A program that trains, as one shard sees it.

    Attributes:
        program: "host:pid".
        updates: Updates with work for the shard, including repeated ones.
        staleness: How many of the program's steps were missing from the rows of its
            newest training batch.
        staleness_max: The maximum of `staleness` over the updates.
        idle_millis: Milliseconds since the last update.
    """

    program: str
    updates: int
    staleness: int
    staleness_max: int
    idle_millis: int

    @property
    def may_have_ended(self) -> bool:
        """Whether the program has been idle for so long that it is not shown."""
        return self.idle_millis >= _MOST_IDLE_SECONDS * 1000


@dataclasses.dataclass(frozen=True)
class ProcessStats:
    """One process's counters since it started.

    Attributes:
        address: The process's "host:port", or "embedded".
        generation: The store's generation; a restore increases it.
        member: For a shard, its id, which it keeps as long as it keeps its rows; else
            0.
        lookups: Lookup requests.
        updates: Update requests, including repeated ones.
        repeated_updates: Updates that were skipped, since they were applied before.
        lost_updates: After a shard recovered from a checkpoint, the maximum number of
            updates that came after that checkpoint and are lost.
        bad_frames: Connections closed because of malformed data.
        refused_connections: Connections refused because they lacked a valid
            certificate or the token, or because there were too many.
        connections: Connections open now.
        tables: The process's part of each table.
        bytes_in: Bytes of requests.
        bytes_out: Bytes of replies.
        retries: For an embedding worker, requests that it sent to shards again.
        reconnects: For an embedding worker, its connections to shards after the first
            to each.
        memory_bytes: Memory of all tables.
        memory_limit: The limit of that memory; 0 if there is none.
        log_records: Records appended to the recovery log since it was created.
        log_pending: Records of these that are not durable yet.
        log_bytes: Bytes appended to the log since its last base.
        log_base_bytes: The size of the log's last base.
        log_failed: 1 if the log accepts no more records, else 0.
        saves: Checkpoints whose save was completed.
        restores: Checkpoints that replaced tables.
        failed_checkpoints: Saves and restores that failed.
        last_save_unix: When a save was completed, in seconds of Unix time; 0: never.
        checkpoint_running: 1 while a checkpoint is saved or restored, else 0.
        checkpoint_rows: Rows that the running save or restore has written or read.
        checkpoint_total_rows: Rows that the running save will write.
        member: A shard's id, which it keeps as long as it keeps its rows; 0 for other
            processes.
        slots: The number of slots, of 16384, that a shard owns, or whose rows a replica
            has; 0 for other processes.
        requests: The requests that the process answered, by type. Types that nobody
            requested are absent.
        trainers: The programs that train on the process's rows.
        role: "shard", "standby", "replica" or "worker" (an embedding worker).
        source: For a replica, "host:port" of the shard that it follows, and for a
            standby, of its primary; else "".
        behind_seconds: For a replica, how many seconds ago it last had every change of
            its shard. None if it never had every change, and for processes that are not
            replicas.
    """

    address: str
    generation: int
    lookups: int
    updates: int
    repeated_updates: int
    lost_updates: int
    bad_frames: int
    refused_connections: int
    connections: int
    tables: tuple[TableStats, ...]
    bytes_in: int = 0
    bytes_out: int = 0
    retries: int = 0
    reconnects: int = 0
    memory_bytes: int = 0
    memory_limit: int = 0
    log_records: int = 0
    log_pending: int = 0
    log_bytes: int = 0
    log_base_bytes: int = 0
    log_failed: int = 0
    saves: int = 0
    restores: int = 0
    failed_checkpoints: int = 0
    last_save_unix: int = 0
    checkpoint_running: int = 0
    checkpoint_rows: int = 0
    checkpoint_total_rows: int = 0
    member: int = 0
    slots: int = 0
    requests: tuple[RequestStats, ...] = ()
    trainers: tuple[TrainerStats, ...] = ()
    role: str = "shard"
    source: str = ""
    behind_seconds: float | None = None


def fetch(
    addresses: str | Sequence[str],
    timeout: float = 5.0,
    auth_token_file: str | None = None,
    tls: tls_lib.TLS | None = None,
) -> list[ProcessStats]:
    """Fetches the counters of every shard in a list.

    Example:

    >>> for process in fetch("127.0.0.1:7000,127.0.0.1:7001"):
    ...     print(process.address, sum(table.rows for table in process.tables))

    Args:
        addresses: "host:port" of each shard, as a sequence or joined by commas.
        timeout: Seconds until the call gives up.
        auth_token_file: The token file, as for `Cluster`.
        tls: The TLS files for the connections; None for no TLS.

    Returns:
        One `ProcessStats` per shard, in the order of `addresses`.

    Raises:
        InvalidArgumentError: If an address does not parse, or the token file or a TLS
            file cannot be read or is not valid.
        PersiaError: If a shard cannot be reached or does not answer in time; the
            message names it.
    """
    if not isinstance(addresses, str):
        addresses = ",".join(addresses)
    handle = capi.StatsHandle()
    token = auth.read_token(auth.token_file(auth_token_file))
    credentials = tls_lib.read(tls).native()
    capi.library().persia_stats_fetch(
        *(capi.utf8(addresses), token, ctypes.byref(credentials)),
        *(timeout, ctypes.byref(handle)),
    )
    return _take(handle)


def of_session(name: str) -> list[ProcessStats]:
    """Returns the counters of a session's shards, or of its embedded store.

    Example:

    >>> [embedded] = of_session("default")

    Args:
        name: The session's name.

    Returns:
        One `ProcessStats` per shard, or a single one for an embedded store.

    Raises:
        NotFoundError: If no session has that name.
        PersiaError: If a shard cannot be reached or does not answer in time.
    """
    handle = capi.StatsHandle()
    capi.library().persia_stats_of_session(capi.utf8(name), ctypes.byref(handle))
    return _take(handle)


def each_once(processes: Iterable[ProcessStats]) -> list[ProcessStats]:
    """Removes duplicates: several embedding workers may report the same shard."""
    first: dict[str, ProcessStats] = {}
    for process in processes:
        first.setdefault(process.address, process)
    return list(first.values())


def shards_of(processes: Iterable[ProcessStats]) -> list[ProcessStats]:
    """Returns the processes that are no embedding workers, each once."""
    return each_once(process for process in processes if process.role != "worker")


def of_server(server: capi.ServerHandle) -> ProcessStats:
    """Returns the counters of a server in this process.

    Those of an embedding worker do not include its shards, which are not asked.
    """
    handle = capi.StatsHandle()
    capi.library().persia_stats_of_server(server, ctypes.byref(handle))
    return _take(handle)[0]


@functools.cache
def bucket_bounds() -> tuple[float, ...]:
    """Returns the bounds of the buckets of `RequestStats`, in seconds.

    The last bound is infinite.
    """
    native = capi.library()
    bounds: list[float] = []
    while not bounds or math.isfinite(bounds[-1]):
        bounds.append(native.persia_stats_bucket_bound(len(bounds)))
    return tuple(bounds)


def _take(handle: capi.StatsHandle) -> list[ProcessStats]:
    """Copies the counters that `handle` views, and frees the handle."""
    native = capi.library()
    try:
        return [
            _process(native, handle, index)
            for index in range(native.persia_stats_processes(handle))
        ]
    finally:
        native.persia_stats_free(handle)


def _process(native: ctypes.CDLL, handle: capi.StatsHandle, index: int) -> ProcessStats:
    process = capi.ProcessStats()
    native.persia_stats_process(handle, index, ctypes.byref(process))
    behind = process.behind_millis
    tables = [
        TableStats(_text(table.name), dim=table.dim, **table.counters.by_name())
        for table in _parts(
            *(native.persia_stats_table, handle, index),
            *(process.tables, capi.TableStats),
        )
    ]
    requests = [
        RequestStats(
            _text(request.name),
            failed=request.failed,
            seconds=request.nanoseconds / 1e9,
            buckets=tuple(request.buckets[: request.bucket_count]),
        )
        for request in _parts(
            *(native.persia_stats_request, handle, index),
            *(process.requests, capi.RequestStats),
        )
    ]
    trainers = [
        TrainerStats(_text(trainer.program), **trainer.counters.by_name())
        for trainer in _parts(
            *(native.persia_stats_trainer, handle, index),
            *(process.trainers, capi.TrainerStats),
        )
    ]
    return ProcessStats(
        _text(process.address),
        role=_text(process.role),
        source=_text(process.source),
        behind_seconds=None if behind == _NEVER_COMPLETE else behind / 1000,
        tables=tuple(tables),
        requests=tuple(requests),
        trainers=tuple(trainers),
        **process.counters.by_name(),
    )


def _parts(
    get: Any, handle: capi.StatsHandle, process: int, count: int, kind: Any
) -> Iterator[Any]:
    """Yields the entries of one list in a process's statistics."""
    for index in range(count):
        part = kind()
        get(handle, process, index, ctypes.byref(part))
        yield part


def _text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
