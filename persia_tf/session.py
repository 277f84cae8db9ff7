"""Sessions: this process's ends of clusters, kept by the native core."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
import threading
from collections.abc import Sequence

from absl import logging

from persia_tf import _native, auth, errors, events
from persia_tf import tls as tls_lib
from persia_tf.settings_difference import difference

# Names and types.
COUNTERS = _native.SessionCounters._fields_

# The last counts all that were as stale, or more.
_STALENESS_BINS = 65

# Of `SessionOptions`: what all users of a session must agree on.
_SHARED_OPTIONS = ("staleness", "wire_dtype", "hot_rows", "auth_token_file", "tls")

# Of these, what makes shards refuse a session as a whole.
_CREDENTIALS = ("auth_token_file", "tls")


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


@dataclasses.dataclass(frozen=True)
class SessionOptions:
    """How this process talks to its shards; `Cluster` says what each means.

    Attributes:
        timeout: Seconds that a request may take.
        staleness: Of batches that are not prefetched.
        wire_dtype: How rows and gradients travel.
        hot_rows: Rows of each table that this process may keep copies of.
        auth_token_file: Holds the token; "": there is none.
        tls: The files of TLS; None: there is none.
    """

    timeout: float = 30.0
    staleness: int = 4
    wire_dtype: str = "float32"
    hot_rows: int = 0
    auth_token_file: str = ""
    tls: tls_lib.TLS | None = None

    def native(self, addresses: str) -> _native.SessionOptions:
        """Returns what the core takes."""
        return _native.SessionOptions(
            addresses=_native.utf8(addresses),
            timeout_seconds=self.timeout,
            staleness=self.staleness,
            wire_dtype=_native.utf8(self.wire_dtype),
            hot_rows=self.hot_rows,
            auth_token=auth.read_token(self.auth_token_file),
            tls=tls_lib.read(self.tls).native(),
            events=events.of_program().handle if addresses else None,
        )


class Session:
    """An open session of the native core. Thread-safe.

    Args:
        name: Its key in the core's registry, by which ops find it.
        where: Its shards, for messages.
        options: What it was opened with.

    Attributes:
        name: As given.
        writes: How often this program set or removed rows beside training.
    """

    def __init__(self, name: str, where: str, options: SessionOptions) -> None:
        self.name = name
        self.writes = 0
        self._where = where
        self._options = options
        self._key = _native.utf8(name)
        self._tables: dict[str, TableSettings] = {}
        self._refused = False
        self._lock = threading.Lock()

    @property
    def staleness(self) -> int:
        """That of batches that are not prefetched."""
        return self._options.staleness

    def check_same(self, options: SessionOptions) -> None:
        """Raises ValueError if a later user of the session asks for other options."""
        for name in _SHARED_OPTIONS:
            first, now = getattr(self._options, name), getattr(options, name)
            if first == now:
                continue
            raise ValueError(
                f"`{name}` must be the same in every Cluster of one program that names "
                f"the same shards ({self._where}), since these share what it bounds. "
                "Give them one value, or make one Cluster and pass it on. "
                f"Received: {name}={now!r}, after {name}={first!r}"
            )

    def may_be_replaced(self, options: SessionOptions) -> bool:
        """Whether another session may take its place, which reads credentials anew.

        After wrong ones, say in a notebook: nothing was made through it then.
        """
        return not self._tables and (
            self._refused
            or any(
                getattr(self._options, name) != getattr(options, name)
                for name in _CREDENTIALS
            )
        )

    def create_table(self, table: str, settings: TableSettings) -> int:
        """Makes `table` on every shard or attaches to it; the rows it held."""
        with self._lock:
            known = self._tables.get(table)
            if known is not None and known != settings:
                raise errors.AlreadyExistsError(
                    f"two layers of this process give table '{table}' different "
                    f"settings: {difference(known, settings)}. Give them the same, "
                    "or give one of them another `table`."
                )
            try:
                rows = self._create_on_shards(table, settings)
            except (errors.UnauthenticatedError, errors.PermissionDeniedError):
                self._refused = True
                raise
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
        return {name: getattr(counters, name) for name, *_ in COUNTERS}

    def staleness_histogram(self) -> list[int]:
        """Returns how many training batches had a staleness of 0, 1, 2, ..."""
        bins = (ctypes.c_uint64 * _STALENESS_BINS)()
        _native.library().persia_session_get_staleness(self._key, bins, len(bins))
        return list(bins)


_sessions: dict[str, Session] = {}
_sessions_lock = threading.Lock()


def open_session(shards: Sequence[str], options: SessionOptions) -> Session:
    """Returns this process's session with `shards`, opening it on first use.

    Args:
        shards: `"host:port"` of each; none for the store in this process.
        options: What else makes the session.

    Returns:
        The one `Session` of these shards and this time-out, whatever it was opened
        with. The embedded store has one session, and needs no time-out.
    """
    addresses = ",".join(shards)
    name = f"{addresses} timeout={options.timeout}" if shards else "embedded"
    with _sessions_lock:
        known = _sessions.get(name)
        if known is not None and known.may_be_replaced(options):
            del _sessions[name]
            _native.library().persia_session_close(_native.utf8(name))
        if name in _sessions:
            return _sessions[name]
        native = options.native(addresses)
        _native.library().persia_session_open(_native.utf8(name), ctypes.byref(native))
        _sessions[name] = Session(name, addresses or "embedded", options)
        return _sessions[name]


def open_sessions() -> list[Session]:
    """Returns every session of this process."""
    return list(_sessions.values())


def flush_all() -> None:
    """Flushes every session; raises the first error after trying all."""
    first: errors.PersiaError | None = None
    for session in open_sessions():
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
