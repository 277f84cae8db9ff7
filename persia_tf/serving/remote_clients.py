"""The clients through which exported models in this process ask shards."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

import numpy as np

from persia_tf import _native, native_arrays


@dataclasses.dataclass(frozen=True)
class RemoteStats:
    """Counters of one client through which models in this process ask shards.

    Models that were exported for the same cluster, with the same options, share a
    client.

    Attributes:
        number: The client's number, unique in this process.
        cluster: The export's name for the cluster.
        addresses: `"host:port"` of each server that it asks.
        lookups: The number of lookups by layers.
        ids: The ids in these lookups, duplicates included.
        unique_ids: The ids in these lookups, each counted once per lookup.
        requests: Requests to shards. They can be fewer than the lookups, which are
            combined, and may be answered from copies.
        failures: Requests that failed.
        zeros: Rows that were returned as zeros because their request failed.
        hot_hits: Rows that were answered from copies.
        hot_misses: Rows that had no copy, or only one that had expired.
        hot_rows: The number of copies held.
        hot_bytes: The memory that they take, in bytes.
        latencies: A histogram of lookups by duration: entry `b` counts those that took
            less than `2**b` microseconds, but at least half of that.
    """

    number: int
    cluster: str
    addresses: tuple[str, ...]
    lookups: int
    ids: int
    unique_ids: int
    requests: int
    failures: int
    zeros: int
    hot_hits: int
    hot_misses: int
    hot_rows: int
    hot_bytes: int
    latencies: tuple[int, ...]


class RemoteClient:
    """A handle of one client, through which a follower updates its copies of rows.

    The client's memory is not freed while the handle lives. Thread-safe.
    """

    def __init__(self, handle: _native.RemoteHandle) -> None:
        self._handle = handle

    def __del__(self) -> None:
        _native.library().persia_remote_free(self._handle)

    def stats(self) -> RemoteStats:
        """Returns the client's counters."""
        counters = _native.RemoteCounters()
        _native.library().persia_remote_get_counters(
            self._handle, ctypes.byref(counters)
        )
        fields: dict[str, Any] = {
            name: getattr(counters, name) for name, *_ in counters._fields_
        }
        fields["cluster"] = fields["cluster"].decode()
        fields["addresses"] = tuple(fields["addresses"].decode().split(","))
        fields["latencies"] = tuple(fields["latencies"])
        return RemoteStats(**fields)

    def set_followed(self, followed: bool) -> None:
        """Says whether the client is notified of every change from now on.

        If so, copies that it makes from now on do not expire. Copies from before this
        call still do.
        """
        _native.library().persia_remote_set_followed(self._handle, followed)

    def refresh(self, table: str, ids: np.ndarray, rows: np.ndarray) -> None:
        """Notifies the client of changed rows: it updates the copies that it has.

        Args:
            table: The table's full name.
            ids: int64, `(n,)`.
            rows: float32, `(n, dim)`.
        """
        ids = np.ascontiguousarray(ids, np.int64)
        rows = np.ascontiguousarray(rows, np.float32)
        if rows.ndim != 2 or ids.shape != rows.shape[:1]:
            raise ValueError(
                "`rows` must be of shape (len(ids), dim). Received: "
                f"ids of shape {ids.shape}, rows of shape {rows.shape}"
            )
        _native.library().persia_remote_refresh(
            *(self._handle, _native.utf8(table), rows.shape[1]),
            *native_arrays.ids(ids),
            native_arrays.floats(rows),
        )

    def erase(self, table: str, ids: np.ndarray) -> None:
        """Notifies the client of erased rows: it drops the copies that it has.

        Args:
            table: The table's full name.
            ids: int64, `(n,)`.
        """
        ids = np.ascontiguousarray(ids, np.int64)
        _native.library().persia_remote_erase(
            *(self._handle, _native.utf8(table)),
            *native_arrays.ids(ids),
        )

    def close(self) -> None:
        """Makes models that are loaded from now on use a new client.

        Raises:
            NotFoundError: if this was done before.
        """
        _native.library().persia_remote_close(self.stats().number)


def remote_clients() -> list[RemoteClient]:
    """Returns the open clients, the oldest first."""
    clients: list[RemoteClient] = []
    while True:
        after = clients[-1].stats().number if clients else 0
        handle = _native.RemoteHandle()
        _native.library().persia_remote_next(after, ctypes.byref(handle))
        if not handle:
            return clients
        clients.append(RemoteClient(handle))


def remote_stats() -> list[RemoteStats]:
    """Returns counters of the models in this process that ask shards for rows.

    Returns:
        A list with a `RemoteStats` for each client, the oldest first; empty if no such
        model was called yet.
    """
    return [client.stats() for client in remote_clients()]
