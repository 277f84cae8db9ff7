"""Sessions: this process's ends of clusters, kept by the native core."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
import threading
from collections.abc import Sequence

from absl import logging

from persia_tf import _native, errors


@dataclasses.dataclass(frozen=True)
class TableSettings:
    """What makes a table; users of one table must agree on all of it.

    Attributes:
        dim: Weights a row.
        initializer: A new row's value, as the core's text.
        optimizer: The rule and its numbers, as the core's text.
        seed: Joins the table's name in every row's initial value.
        row_dtype: How weights are held, as the core's text; so are the others.
        capacity: The most that the table holds, over all shards.
        admission: Which ids get a row.
        eviction: Which rows leave.
    """

    dim: int
    initializer: str
    optimizer: str
    seed: int
    row_dtype: str = "float32"
    capacity: str = "unlimited"
    admission: str = "always"
    eviction: str = "never"

    def native(self) -> _native.TableSettings:
        """Returns what the core takes."""
        return _native.TableSettings(
            dim=self.dim,
            initializer=_native.utf8(self.initializer),
            optimizer=_native.utf8(self.optimizer),
            row_dtype=_native.utf8(self.row_dtype),
            capacity=_native.utf8(self.capacity),
            admission=_native.utf8(self.admission),
            eviction=_native.utf8(self.eviction),
            seed=self.seed,
            default_value=0.0,
        )


class Session:
    """An open session of the native core. Thread-safe.

    Args:
        name: Its key in the core's registry, by which ops find it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._key = _native.utf8(name)
        self._tables: dict[str, TableSettings] = {}
        self._lock = threading.Lock()

    def create_table(self, table: str, settings: TableSettings) -> int:
        """Makes `table` on every shard or attaches to it; the rows it held."""
        with self._lock:
            known = self._tables.get(table)
            if known is not None and known != settings:
                raise errors.AlreadyExistsError(
                    f"two layers of this process give table '{table}' different "
                    f"settings: first {known}, now {settings}. Give them the same, "
                    "or give one of them another `table`."
                )
            rows = self._create_on_shards(table, settings)
            self._tables[table] = settings
        return rows

    def _create_on_shards(self, table: str, settings: TableSettings) -> int:
        rows = ctypes.c_uint64()
        _native.library().persia_session_create_table(
            self._key,
            _native.utf8(table),
            ctypes.byref(settings.native()),
            ctypes.byref(rows),
        )
        return rows.value

    def flush(self) -> None:
        """Waits for every committed update; raises the first that failed."""
        _native.library().persia_session_flush(self._key)

    def counters(self) -> dict[str, int]:
        """Returns what passed through this session, by name."""
        counters = _native.SessionCounters()
        _native.library().persia_session_get_counters(self._key, ctypes.byref(counters))
        return {name: getattr(counters, name) for name, *_ in counters._fields_}


_sessions: dict[str, Session] = {}
_sessions_lock = threading.Lock()


def open_session(
    shards: Sequence[str], timeout: float, staleness: int
) -> Session:
    """Returns this process's session with `shards`, opening it on first use.

    Args:
        shards: `"host:port"` of each; none for the store in this process.
        timeout: Seconds that a request may take.
        staleness: See `Cluster`.

    Returns:
        The one `Session` of these arguments. The embedded store has one session
        whatever the other arguments of its first user were.
    """
    addresses = ",".join(shards)
    name = f"{addresses} timeout={timeout} staleness={staleness}"
    if not shards:
        name = "embedded"
    with _sessions_lock:
        if name not in _sessions:
            _native.library().persia_session_open(
                _native.utf8(name), _native.utf8(addresses), timeout, staleness
            )
            _sessions[name] = Session(name)
        return _sessions[name]


def flush_all() -> None:
    """Flushes every session; raises the first error after trying all."""
    first: errors.PersiaError | None = None
    for session in list(_sessions.values()):
        try:
            session.flush()
        except errors.PersiaError as error:
            first = first or error
    if first is not None:
        raise first


@atexit.register
def _flush_at_exit() -> None:
    # Nobody is left to raise to: what is lost must at least be said.
    try:
        flush_all()
    except errors.PersiaError as error:
        logging.error("updates were lost as the program ended: %s", error)
