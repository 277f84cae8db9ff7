"""Sessions: this process's ends of clusters, kept by the native core."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from absl import logging

from persia_tf import _native, auth, errors, events, stats
from persia_tf import tls as tls_lib
from persia_tf.settings_difference import difference

# Names and types.
COUNTERS = _native.SessionCounters._fields_

# The last counts all that were as stale, or more.
_STALENESS_BINS = 65

EMBEDDED = "embedded"

# Of `SessionOptions`: what all users of a session must agree on.
_SHARED_OPTIONS = ("staleness", "wire_dtype", "hot_rows", "auth_token_file", "tls")

# Of these, what makes shards refuse a session as a whole.
_CREDENTIALS = ("auth_token_file", "tls")


# The optimizer of a table that is made before what steps it is known.
UNDECIDED = "undecided"

_OPTIMIZER_BYTES = 1024


class OpenedTable(NamedTuple):
    """A table as the shards have it.

    Attributes:
        rows: How many rows it held when it was opened.
        optimizer: Its optimizer, as the core's text.
    """

    rows: int
    optimizer: str


@dataclasses.dataclass(frozen=True)
class TableSettings:
    """What makes a table; users of one table must agree on all of it.

    Attributes:
        dim: Weights a row.
        initializer: A new row's value, as the core's text.
        optimizer: The rule and its numbers, as the core's text; or `UNDECIDED`, which
            agrees with any.
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
        loaded: The tables whose rows came with a model that was loaded.
    """

    def __init__(self, name: str, where: str, options: SessionOptions) -> None:
        self.name = name
        self.writes = 0
        self.loaded: set[str] = set()
        self._where = where
        self._options = options
        self._key = _native.utf8(name)
        self._tables: dict[str, TableSettings] = {}
        # The rows are of this program's making, or of what it loaded.
        self._own_tables: set[str] = set()
        self._row_optimizers: dict[str, Any] = {}
        self._layers: dict[str, list[str]] = {}
        # How many batches were committed when the training of a table began.
        self._training_began: dict[str, int] = {}
        self._refused = False
        self._lock = threading.Lock()

    @property
    def shards(self) -> str:
        """Their addresses, joined by commas; "" of a store in this process."""
        return "" if self._where == EMBEDDED else self._where

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

    def create_table(
        self, table: str, settings: TableSettings, *, replaces_optimizer: bool = False
    ) -> OpenedTable:
        """Makes `table` on every shard or attaches to it.

        Args:
            table: Its full name.
            settings: A `TableSettings`.
            replaces_optimizer: Whether a table of another optimizer gets this one:
                its rows keep their weights, and their state begins anew.
        """
        with self._lock:
            self._check_agrees(table, settings, replaces_optimizer)
            try:
                opened = self._create_on_shards(table, settings, replaces_optimizer)
            except (errors.UnauthenticatedError, errors.PermissionDeniedError):
                self._refused = True
                raise
            if table not in self._tables and not opened.rows:
                self._own_tables.add(table)
            if settings.optimizer != UNDECIDED or table not in self._tables:
                self._tables[table] = settings
        return opened

    def own(self, table: str) -> None:
        """Notes that what `table` holds is of this program's making."""
        self._own_tables.add(table)

    def owns(self, table: str) -> bool:
        """Whether `table` was empty when this program came, or is its own since."""
        return table in self._own_tables

    def give_optimizer(self, table: str, optimizer: Any) -> None:
        """Notes the row optimizer that a layer of `table` was given."""
        self._row_optimizers[table] = optimizer

    def given_optimizer(self, table: str) -> Any:
        """The row optimizer that a layer of `table` was given, or None."""
        return self._row_optimizers.get(table)

    def _check_agrees(
        self, table: str, settings: TableSettings, replaces_optimizer: bool
    ) -> None:
        known = self._tables.get(table)
        if known is None:
            return
        if replaces_optimizer or UNDECIDED in (known.optimizer, settings.optimizer):
            known = dataclasses.replace(known, optimizer=settings.optimizer)
        if known != settings and self.holds(table):
            raise errors.AlreadyExistsError(
                f"two layers of this process give table '{table}' different "
                f"settings: {difference(known, settings)}. Give them the same, "
                "or give one of them another `table`. To begin anew without its "
                f"rows, call {self._remedy(table)} and build the model again."
            )

    def _create_on_shards(
        self, table: str, settings: TableSettings, replaces_optimizer: bool
    ) -> OpenedTable:
        rows = ctypes.c_uint64()
        held = ctypes.create_string_buffer(_OPTIMIZER_BYTES)
        native = settings.native()
        native.replaces_optimizer = replaces_optimizer
        native.held_optimizer = ctypes.cast(held, ctypes.POINTER(ctypes.c_char))
        _native.library().persia_session_create_table(
            self._key, _native.utf8(table), ctypes.byref(native), ctypes.byref(rows)
        )
        return OpenedTable(rows.value, held.value.decode())

    def note_training(self, table: str) -> None:
        """Notes that a layer of this process begins to train a table."""
        committed = self.counters()["committed"]
        with self._lock:
            self._training_began.setdefault(table, committed)

    def has_trained(self, table: str) -> bool:
        """Whether this process has trained a table.

        Not yet as long as no batch was committed since: a model may build several
        layers of the table in its first step.
        """
        with self._lock:
            began = self._training_began.get(table)
        return began is not None and self.counters()["committed"] > began

    def note_restored(self) -> None:
        """Notes that all rows are a checkpoint's now, whoever trained before."""
        with self._lock:
            self._training_began.clear()
            self.loaded.clear()

    def add_layer(self, table: str, layer: str) -> None:
        """Notes that a layer, as the ops name it, was built on a table."""
        with self._lock:
            self._layers.setdefault(table, []).append(layer)

    def known_tables(self) -> list[str]:
        """The full names of the tables that this program made, or attached to."""
        with self._lock:
            return sorted(self._tables)

    def knows(self, table: str) -> bool:
        """Whether this program made the table, or attached to it."""
        return table in self._tables

    def tables(self) -> set[str]:
        """Returns the full names of the tables that any of the processes holds."""
        processes = stats.of_session(self.name)
        return {table.name for process in processes for table in process.tables}

    def holds(self, table: str) -> bool:
        """Whether any of the processes holds the table."""
        return table in self.tables()

    def clear_table(self, table: str) -> None:
        """Takes all rows of a table, which stays, once updates are applied."""
        self.flush()
        self.writes += 1
        self.loaded.discard(table)
        self._drop_on_shards(table, stays=True)

    def drop_table(self, table: str) -> None:
        """Drops a table on every shard, once updates are applied.

        Layers of this process that were built on it fail from then on, and say why.
        """
        try:
            self.flush()
        except errors.NotFoundError as error:
            logging.warning("updates of a table that is gone were lost: %s", error)
        self.writes += 1
        self._retire_layers(table)
        self._drop_on_shards(table, stays=False)
        with self._lock:
            self._tables.pop(table, None)
            self._row_optimizers.pop(table, None)
            self._own_tables.discard(table)
            self._training_began.pop(table, None)
            self.loaded.discard(table)
        for forget in _forgetters:
            forget(self.name, table)

    def _retire_layers(self, table: str) -> None:
        with self._lock:
            layers = self._layers.pop(table, [])
        for layer in layers:
            name = layer.rpartition("#")[0]
            why = (
                f"layer '{name}': its table '{table}' was dropped by this program. "
                "Build the model again, which makes the table anew, without rows."
            )
            _native.library().persia_session_retire_layer(
                self._key, _native.utf8(layer), _native.utf8(why)
            )

    def _drop_on_shards(self, table: str, *, stays: bool) -> None:
        _native.library().persia_session_drop_table(
            self._key, _native.utf8(table), int(stays)
        )

    def _remedy(self, table: str) -> str:
        dropped = f"`ptf.Table({table!r}).drop()`"
        if self._where == EMBEDDED:
            return f"{dropped}, or `ptf.reset()` for all tables of this process,"
        return dropped

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

# Are told of each table that is dropped: the session's name and the table's.
_forgetters: list[Callable[[str, str], None]] = []


def when_dropped(forget: Callable[[str, str], None]) -> None:
    """Has `forget` called with a session's name and a table that was dropped there."""
    _forgetters.append(forget)


def open_session(
    shards: Sequence[str], options: SessionOptions, store: str = EMBEDDED
) -> Session:
    """Returns this process's session with `shards`, opening it on first use.

    Args:
        shards: `"host:port"` of each; none for a store in this process.
        options: What else makes the session.
        store: The name of the store in this process, if there are no shards.

    Returns:
        The one `Session` of these shards and this time-out, whatever it was opened
        with. An embedded store has one session, and needs no time-out.
    """
    addresses = ",".join(shards)
    name = f"{addresses} timeout={options.timeout}" if shards else store
    with _sessions_lock:
        known = _sessions.get(name)
        if known is not None and known.may_be_replaced(options):
            del _sessions[name]
            _native.library().persia_session_close(_native.utf8(name))
        if name in _sessions:
            return _sessions[name]
        native = options.native(addresses)
        _native.library().persia_session_open(_native.utf8(name), ctypes.byref(native))
        _sessions[name] = Session(name, addresses or EMBEDDED, options)
        return _sessions[name]


def find_session(name: str) -> Session | None:
    """Returns the open session of that name, or None."""
    return _sessions.get(name)


def close_session(name: str) -> None:
    """Ends a session that nobody of this process uses any more, if it is open."""
    with _sessions_lock:
        if _sessions.pop(name, None) is not None:
            _native.library().persia_session_close(_native.utf8(name))


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
