"""Counters of parameter server shards and of their tables."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence

from persia_tf.credentials import auth
from persia_tf.credentials import tls as tls_lib
from persia_tf.native import capi

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
class ProcessStats:
    """One process's counters since it started.

    Attributes:
        address: The process's "host:port", or "embedded".
        generation: The store's generation; a restore increases it.
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
        source: For a replica, "host:port" of the shard that it follows; else "".
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
    tables = []
    for table_index in range(process.tables):
        table = capi.TableStats()
        native.persia_stats_table(handle, index, table_index, ctypes.byref(table))
        tables.append(
            TableStats(_text(table.name), dim=table.dim, **table.counters.by_name())
        )
    return ProcessStats(
        _text(process.address),
        source=_text(process.source),
        behind_seconds=None if behind == _NEVER_COMPLETE else behind / 1000,
        tables=tuple(tables),
        **process.counters.by_name(),
    )


def _text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
