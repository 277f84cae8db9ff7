"""The clients by which exported models of this process ask shards."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

import numpy as np

from persia_tf import _native, native_arrays


@dataclasses.dataclass(frozen=True)
class RemoteStats:
    """What passed through one client by which models of this process ask shards.

    Models that were exported for the same cluster, with the same options, share one.

    Attributes:
        number: No other client of this process has it.
        cluster: The export's name for the cluster.
        addresses: `"host:port"` of each shard that it asks.
        lookups: Lookups of layers.
        ids: That they had, duplicates included.
        unique_ids: The same, each once a lookup.
        requests: Lookups go together, so these are fewer; copies may answer some.
        failures: Requests that a shard failed.
        zeros: Rows that were given as zeros because of that.
        hot_hits: Rows that copies gave.
        hot_misses: Rows that there was no copy of, or one that was too old.
        hot_rows: Copies there are.
        hot_bytes: Memory that they take.
        latencies: Lookups by how long they took: entry `b` counts those of less than
            `2**b` microseconds, and not less than half of that.
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
    """One client, for who follows the changes of rows and tells it of them.

    Keeps the client's memory as long as it lives. Thread-safe.
    """

    def __init__(self, handle: _native.RemoteHandle) -> None:
        self._handle = handle

    def __del__(self) -> None:
        _native.library().persia_remote_free(self._handle)

    def stats(self) -> RemoteStats:
        """Returns what passed through it."""
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
        """Says whether it is told of every change from now on.

        Copies do not grow old meanwhile.
        """
        _native.library().persia_remote_set_followed(self._handle, followed)

    def refresh(self, table: str, ids: np.ndarray, rows: np.ndarray) -> None:
        """Tells of rows that changed; copies that there are become these.

        Args:
            table: Its full name.
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
        """Tells of rows that are gone: copies of them answer no more.

        Args:
            table: Its full name.
            ids: int64, `(n,)`.
        """
        ids = np.ascontiguousarray(ids, np.int64)
        _native.library().persia_remote_erase(
            *(self._handle, _native.utf8(table)),
            *native_arrays.ids(ids),
        )

    def close(self) -> None:
        """Has models that are loaded from now on ask through another one.

        Raises:
            NotFoundError: if that was done before.
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
    """Returns what models that ask shards did in this process.

    Returns:
        A `RemoteStats` for each client, the oldest first; none if no such model was
        called yet.
    """
    return [client.stats() for client in remote_clients()]
