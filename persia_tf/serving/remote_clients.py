"""The clients through which exported models in this process look up rows on shards."""

from __future__ import annotations

import ctypes
import dataclasses

import numpy as np

from persia_tf.native import arrays, capi


@dataclasses.dataclass(frozen=True)
class RemoteStats:
    """Counters of one client, through which models look up rows on shards.

    Models in this process that were exported for the same cluster, with the same
    options, share a client.

    Attributes:
        number: The client's number, unique in this process.
        cluster: The export's name for the cluster.
        addresses: `"host:port"` of each server to which the client sends requests.
        lookups: The number of lookups by layers.
        ids: The number of ids in these lookups, duplicates included.
        unique_ids: The number of ids in these lookups, each counted once per lookup.
        requests: Requests to shards. There can be fewer requests than lookups, since
            the client combines lookups, and answers some from its copies of hot rows.
        failures: Requests that failed.
        zeros: Rows that were returned as zeros because their request failed.
        hot_hits: Rows that were answered from copies of hot rows.
        hot_misses: Rows of which the client had no copy, or only an expired copy.
        hot_rows: The number of copies that the client holds.
        hot_bytes: The memory that these copies take, in bytes.
        latencies: A histogram of lookups by duration: entry `b` counts the lookups that
            took less than `2**b` microseconds, but at least half of that.
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
    """A handle of one client, by which a follower updates the client's copies of rows.

    The client's memory is not freed while the handle exists. Thread-safe.
    """

    def __init__(self, handle: capi.RemoteHandle) -> None:
        self._handle = handle

    def __del__(self) -> None:
        capi.library().persia_remote_free(self._handle)

    def stats(self) -> RemoteStats:
        """Returns the client's counters."""
        counters = capi.RemoteCounters()
        capi.library().persia_remote_get_counters(self._handle, ctypes.byref(counters))
        return RemoteStats(
            number=counters.number,
            cluster=counters.cluster.decode(),
            addresses=tuple(counters.addresses.decode().split(",")),
            latencies=tuple(counters.latencies),
            **counters.counters.by_name(),
        )

    def set_followed(self, followed: bool) -> None:
        """Sets whether a follower notifies the client of every change from now on.

        If so, copies that the client makes from now on do not expire. Copies from
        before this call still expire.
        """
        capi.library().persia_remote_set_followed(self._handle, followed)

    def refresh(self, table: str, ids: np.ndarray, rows: np.ndarray) -> None:
        """Notifies the client of changed rows, so that it updates its copies of them.

        Args:
            table: The table's full name.
            ids: The ids of the changed rows: int64, `(n,)`.
            rows: The new rows: float32, `(n, dim)`.
        """
        ids = np.ascontiguousarray(ids, np.int64)
        rows = np.ascontiguousarray(rows, np.float32)
        if rows.ndim != 2 or ids.shape != rows.shape[:1]:
            raise ValueError(
                "`rows` must be of shape (len(ids), dim). Received: "
                f"ids of shape {ids.shape}, rows of shape {rows.shape}"
            )
        capi.library().persia_remote_refresh(
            *(self._handle, capi.utf8(table), rows.shape[1]),
            *arrays.ids(ids),
            arrays.floats(rows),
        )

    def erase(self, table: str, ids: np.ndarray) -> None:
        """Notifies the client of erased rows, so that it drops its copies of them.

        Args:
            table: The table's full name.
            ids: The ids of the erased rows: int64, `(n,)`.
        """
        ids = np.ascontiguousarray(ids, np.int64)
        capi.library().persia_remote_erase(
            *(self._handle, capi.utf8(table)),
            *arrays.ids(ids),
        )

    def close(self) -> None:
        """Closes the client: models that are loaded from now on use a new client.

        Raises:
            NotFoundError: if the client was closed before.
        """
        capi.library().persia_remote_close(self.stats().number)


def remote_clients() -> list[RemoteClient]:
    """Returns the open clients, the oldest first."""
    clients: list[RemoteClient] = []
    while True:
        after = clients[-1].stats().number if clients else 0
        handle = capi.RemoteHandle()
        capi.library().persia_remote_next(after, ctypes.byref(handle))
        if not handle:
            return clients
        clients.append(RemoteClient(handle))


def remote_stats() -> list[RemoteStats]:
    """Returns counters of the models in this process that look up rows on shards.

    Returns:
        A list with a `RemoteStats` for each client, the oldest first; empty if no such
        model was called yet.
    """
    return [client.stats() for client in remote_clients()]
