"""How an export asks shards, and what it counts there."""

from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import Any, Literal

from persia_tf import _native, checks
from persia_tf.ops import load

ON_FAILURE = ("error", "default")
_MOST_HOT_ROWS = 2**32
_MOST_SECONDS = 1e6


@dataclasses.dataclass(frozen=True)
class Remote:
    """How `ptf.serving.export(..., mode="remote")` asks shards for rows.

    Example:

    ```python
    remote = ptf.serving.Remote(timeout=0.2, hot_rows=100_000, hot_seconds=5)
    ptf.serving.export(model, "serving/ranking/1", mode="remote", remote=remote)
    ```

    Args:
        timeout: Seconds until a lookup that a shard does not answer fails. Defaults to
            `1.0`.
        on_failure: What becomes of rows whose shard cannot be reached in time:
            `"error"`, the call fails, with an error that names the shard; or
            `"default"`, they are zeros, as of ids without a row, and are counted: see
            `remote_stats`. What a shard refuses is an error either way. Defaults to
            `"error"`.
        hot_rows: How many rows of each table the serving process keeps copies of, those
            of absent ids included: an integer from 0 to 2**32. Defaults to `0`.
        hot_seconds: How long a copy answers instead of the shard, so that a change
            shows as late as that. With `0` it does only while something in the process
            follows changes. Defaults to `0.0`.

    Raises:
        TypeError: for an argument of another type.
        ValueError: for one out of its range, or `hot_seconds` without `hot_rows`.
    """

    timeout: float = 1.0
    on_failure: Literal["error", "default"] = "error"
    hot_rows: int = 0
    hot_seconds: float = 0.0

    def __post_init__(self) -> None:
        checks.one_of("on_failure", self.on_failure, ON_FAILURE)
        checks.integer("hot_rows", self.hot_rows, 0, _MOST_HOT_ROWS)
        _check_seconds("timeout", self.timeout, "above 0")
        _check_seconds("hot_seconds", self.hot_seconds, "from 0")
        if self.timeout < 1e-6:
            raise ValueError(
                "`timeout` must be at least a microsecond. "
                f"Received: timeout={self.timeout!r}"
            )
        if self.hot_seconds and not self.hot_rows:
            raise ValueError(
                "`hot_seconds` is how long copies of rows answer, and `hot_rows` how "
                "many there may be: give both. Received: "
                f"hot_seconds={self.hot_seconds!r}, hot_rows={self.hot_rows!r}"
            )


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


def remote_stats() -> list[RemoteStats]:
    """Returns what models that ask shards did in this process.

    Returns:
        A `RemoteStats` for each client, the oldest first; none if no such model was
        called yet.
    """
    found = []
    number = 0
    while (client := _next_client(number)) is not None:
        try:
            found.append(_stats_of(client))
        finally:
            _native.library().persia_remote_free(client)
        number = found[-1].number
    return found


def op_library() -> str:
    """Returns the path of the op library that exports with `mode="remote"` need.

    For `tf.load_op_library` in a program without `persia_tf`, or another loader.
    `libpersia.so` must be in the folder above it, as it is here.

    Raises:
        LibraryLoadError: if it is missing.
    """
    return os.fspath(load.library_path())


def load_ops() -> None:
    """Loads the op library, so that exports with `mode="remote"` can be loaded.

    Example:

    ```python
    ptf.serving.load_ops()
    serve = tf.saved_model.load("serving/ranking/1").signatures["serving_default"]
    ```

    Raises:
        LibraryLoadError: if it is missing, or this TensorFlow cannot load it.
    """
    load.ops()


def _next_client(after: int) -> _native.RemoteHandle | None:
    client = _native.RemoteHandle()
    _native.library().persia_remote_next(after, ctypes.byref(client))
    return client if client else None


def _stats_of(client: _native.RemoteHandle) -> RemoteStats:
    counters = _native.RemoteCounters()
    _native.library().persia_remote_get_counters(client, ctypes.byref(counters))
    fields: dict[str, Any] = {
        name: getattr(counters, name) for name, *_ in counters._fields_
    }
    fields["cluster"] = fields["cluster"].decode()
    fields["addresses"] = tuple(fields["addresses"].decode().split(","))
    fields["latencies"] = tuple(fields["latencies"])
    return RemoteStats(**fields)


def _check_seconds(name: str, value: Any, least: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"`{name}` must be a number of seconds. Received: {name}={value!r}"
        )
    if not 0 <= value <= _MOST_SECONDS or (least == "above 0" and value == 0):
        raise ValueError(
            f"`{name}` must be {least} to {_MOST_SECONDS:g} seconds. "
            f"Received: {name}={value!r}"
        )
