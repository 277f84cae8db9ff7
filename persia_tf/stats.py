"""Counters of parameter server shards and of their tables."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Sequence
from typing import Any

from persia_tf import _native, auth
from persia_tf import tls as tls_lib

# The core's value of `behind_millis` for "never complete".
_NEVER_COMPLETE = 2**64 - 1


@dataclasses.dataclass(frozen=True)
class TableStats:
    """One shard's part of a table.

    Attributes:
        name: The table's full name.
        dim: Weights per row.
        rows: Rows held.
        bytes: Allocated memory of rows, optimizer state and index.
        index_slots: Number of slots in the index, one per row that it can hold.
        rows_looked_up: Ids in all lookups.
        rows_found: How many of these ids had a row.
        rows_updated: Gradients applied.
        nonfinite_gradients: Gradients skipped because of a NaN or an infinity.
        absent_gradients: Gradients skipped because their id had no row.
        evictions: Rows evicted.
        refused: Ids in lookups that were not admitted.
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
        address: Its "host:port", or "embedded".
        generation: The store's generation; a restore increases it.
        lookups: Lookup requests.
        updates: Update requests, including repeated ones.
        repeated_updates: Updates that were skipped, since they were applied before.
        bad_frames: Connections closed because of malformed data.
        refused_connections: Connections refused because they lacked a valid
            certificate or the token, or because there were too many.
        connections: Connections open now.
        tables: The process's part of each table.
        source: For a replica, "host:port" of the shard that it follows; else "".
        behind_seconds: For a replica, how many seconds ago it last had every change of
            its shard; None if it never had, and for other processes.
    """

    address: str
    generation: int
    lookups: int
    updates: int
    repeated_updates: int
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
        auth_token_file: As for `Cluster`.
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
    handle = _native.StatsHandle()
    token = auth.read_token(auth.token_file(auth_token_file))
    credentials = tls_lib.read(tls).native()
    _native.library().persia_stats_fetch(
        *(_native.utf8(addresses), token, ctypes.byref(credentials)),
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
    handle = _native.StatsHandle()
    _native.library().persia_stats_of_session(_native.utf8(name), ctypes.byref(handle))
    return _take(handle)


def _take(handle: _native.StatsHandle) -> list[ProcessStats]:
    """Copies the counters that `handle` views, and frees the handle."""
    native = _native.library()
    try:
        return [
            _process(native, handle, index)
            for index in range(native.persia_stats_processes(handle))
        ]
    finally:
        native.persia_stats_free(handle)


def _process(
    native: ctypes.CDLL, handle: _native.StatsHandle, index: int
) -> ProcessStats:
    process = _native.ProcessStats()
    native.persia_stats_process(handle, index, ctypes.byref(process))
    fields = _fields(process)
    behind = fields.pop("behind_millis")
    if behind != _NEVER_COMPLETE:
        fields["behind_seconds"] = behind / 1000
    tables = []
    for table_index in range(fields.pop("tables")):
        table = _native.TableStats()
        native.persia_stats_table(handle, index, table_index, ctypes.byref(table))
        tables.append(TableStats(**_fields(table)))
    return ProcessStats(**fields, tables=tuple(tables))


def _fields(structure: ctypes.Structure) -> dict[str, Any]:
    values = {field[0]: getattr(structure, field[0]) for field in structure._fields_}
    return {
        name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        for name, value in values.items()
    }
