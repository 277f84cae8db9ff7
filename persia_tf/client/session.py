"""Sessions: this process's connections to clusters, managed by the native core."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
import functools
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from absl import logging

from persia_tf import errors, stats
from persia_tf.base.spec import in_arguments
from persia_tf.client.settings_difference import difference
from persia_tf.client.totals import Totals
from persia_tf.credentials import auth
from persia_tf.credentials import tls as tls_lib
from persia_tf.native import capi, events

# The last bin counts every batch with a staleness of 64 or more.
_STALENESS_BINS = 65

EMBEDDED = "embedded"

# The fields of `SessionOptions` that must be equal for all users of a session.
_SHARED_OPTIONS = ("staleness", "wire_dtype", "hot_rows", "auth_token_file", "tls")

# The shared options that, if wrong, make shards refuse all requests of the session.
_CREDENTIALS = ("auth_token_file", "tls")


# The optimizer of a table that is created before its optimizer is known.
UNDECIDED = "undecided"

_OPTIMIZER_BYTES = 1024


class OpenedTable(NamedTuple):
    """A table's state on the shards when it was opened.

    Attributes:
        rows: How many rows the table held.
        optimizer: The table's optimizer, in the core's text format.
    """

    rows: int
    optimizer: str


@dataclasses.dataclass(frozen=True)
class TableSettings:
    """The settings of a table, which must be equal for all of its users.

    All texts are in the format that the native core parses.

    Attributes:
        dim: The number of weights per row.
        initializer: How a new row's values are computed.
        optimizer: The update rule and its parameters, or `UNDECIDED`, which agrees
            with any optimizer.
        seed: Determines every row's initial value, together with the table's name and
            the row's id.
        row_dtype: The dtype in which weights are stored.
        capacity: The maximum number of rows or bytes in the table, over all shards.
        admission: Which ids get a row.
        eviction: Which rows are evicted.
    """

    dim: int
    initializer: str
    optimizer: str
    seed: int
    row_dtype: str = "float32"
    capacity: str = "unlimited"
    admission: str = "always"
    eviction: str = "never"

    def native(self) -> capi.TableSettings:
        """Returns the settings as a structure of the core's C interface."""
        return capi.TableSettings(
            dim=self.dim,
            initializer=capi.utf8(self.initializer),
            optimizer=capi.utf8(self.optimizer),
            row_dtype=capi.utf8(self.row_dtype),
            capacity=capi.utf8(self.capacity),
            admission=capi.utf8(self.admission),
            eviction=capi.utf8(self.eviction),
            seed=self.seed,
            default_value=0.0,
        )


@dataclasses.dataclass(frozen=True)
class SessionOptions:
    """How this process communicates with its shards. `Cluster` documents the options.

    Attributes:
        timeout: Seconds that a request may take.
        staleness: The limit of staleness for batches that are not prefetched.
        wire_dtype: The dtype in which rows and gradients are sent.
        hot_rows: How many rows per table this process may hold copies of.
        auth_token_file: The file with the token; "" for no token.
        tls: The TLS files; None for no TLS.
    """

    timeout: float = 30.0
    staleness: int = 4
    wire_dtype: str = "float32"
    hot_rows: int = 0
    auth_token_file: str = ""
    tls: tls_lib.TLS | None = None

    def native(self, addresses: str) -> capi.SessionOptions:
        """Reads the token and TLS files; returns the options for the core."""
        return capi.SessionOptions(
            addresses=capi.utf8(addresses),
            timeout_seconds=self.timeout,
            staleness=self.staleness,
            wire_dtype=capi.utf8(self.wire_dtype),
            hot_rows=self.hot_rows,
            auth_token=auth.read_token(self.auth_token_file),
            tls=tls_lib.read(self.tls).native(),
            events=events.of_program().handle if addresses else None,
        )


class Session:
    """An open session of the native core. Thread-safe.

    Args:
        name: The session's key in the core's registry, by which ops find the session.
        where: The addresses of the shards, or "embedded"; for messages.
        options: The options with which the session was opened.

    Attributes:
        name: The session's key in the core's registry.
        writes: How often this program set or removed rows outside of training.
        loaded: The tables whose rows were loaded with a model.
    """

    def __init__(self, name: str, where: str, options: SessionOptions) -> None:
        self.name = name
        self.writes = 0
        self.loaded: set[str] = set()
        self._where = where
        self._options = options
        self._key = capi.utf8(name)
        self._tables: dict[str, TableSettings] = {}
        # The tables whose rows were all trained or loaded by this program.
        self._own_tables: set[str] = set()
        self._row_optimizers: dict[str, Any] = {}
        self._layers: dict[str, list[str]] = {}
        # For each table, how many batches were committed before its training began.
        self._training_began: dict[str, int] = {}
        self._refused = False
        self._lock = threading.Lock()

    @property
    def shards(self) -> str:
        """The shards' addresses, joined by commas; "" for an embedded store."""
        return "" if self._where == EMBEDDED else self._where

    @property
    def staleness(self) -> int:
        """The limit of staleness for batches that are not prefetched."""
        return self._options.staleness

    @property
    def wire_dtype(self) -> str:
        """The dtype in which rows and gradients are sent."""
        return self._options.wire_dtype

    def check_same(self, options: SessionOptions) -> None:
        """Raises ValueError if `options` differ from those that opened the session."""
        for name in _SHARED_OPTIONS:
            first, now = getattr(self._options, name), getattr(options, name)
            if first == now:
                continue
            raise ValueError(
                f"`{name}` must have one value in all Clusters of this program that "
                f"name the same shards ({self._where}), since they share one session. "
                "Give all of them that value, or create one Cluster and use it "
                "everywhere. "
                f"Received: {name}={now!r}, after {name}={first!r}"
            )

    def may_be_replaced(self, options: SessionOptions) -> bool:
        """Returns whether a new session may replace this one, with credentials reread.

        A session without tables may be replaced if shards refused its credentials, or
        if `options` have other credentials. So a user of a notebook can correct wrong
        credentials.
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
        """Creates `table` on every shard, or attaches to the existing table.

        Args:
            table: The table's full name.
            settings: The settings that the table must have.
            replaces_optimizer: Whether to replace the table's optimizer if it differs.
                In that case rows retain their weights, and their optimizer state is
                reset.
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
        """Records that all rows of `table` come from this program."""
        self._own_tables.add(table)

    def owns(self, table: str) -> bool:
        """Returns whether this program found `table` empty, or called `own` for it."""
        return table in self._own_tables

    def give_optimizer(self, table: str, optimizer: Any) -> None:
        """Records a layer's row optimizer, for other layers of the same table."""
        self._row_optimizers[table] = optimizer

    def given_optimizer(self, table: str) -> Any:
        """Returns the row optimizer that `give_optimizer` recorded, or None."""
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
                f"settings: {difference(known, settings)}. Give both layers the same "
                "settings, or give one of them another `table`. To start over without "
                f"the rows, call {self._remedy(table)} and build the model again."
            )

    def _create_on_shards(
        self, table: str, settings: TableSettings, replaces_optimizer: bool
    ) -> OpenedTable:
        rows = ctypes.c_uint64()
        held = ctypes.create_string_buffer(_OPTIMIZER_BYTES)
        native = settings.native()
        native.replaces_optimizer = replaces_optimizer
        native.held_optimizer = ctypes.cast(held, ctypes.POINTER(ctypes.c_char))
        try:
            capi.library().persia_session_create_table(
                self._key, capi.utf8(table), ctypes.byref(native), ctypes.byref(rows)
            )
        except errors.AlreadyExistsError as error:
            raise errors.AlreadyExistsError(in_arguments(str(error))) from None
        return OpenedTable(rows.value, held.value.decode())

    def note_training(self, table: str) -> None:
        """Records that a layer of this process starts to train a table."""
        committed = self.counters()["committed"]
        with self._lock:
            self._training_began.setdefault(table, committed)

    def has_trained(self, table: str) -> bool:
        """Returns whether this process has trained a table.

        A table counts as trained once a batch was committed after `note_training`.
        Until then, a model may still be building further layers of the table in its
        first step.
        """
        with self._lock:
            began = self._training_began.get(table)
        return began is not None and self.counters()["committed"] > began

    def note_restored(self) -> None:
        """Records that all rows now come from a checkpoint, not from this program."""
        with self._lock:
            self._training_began.clear()
            self.loaded.clear()

    def add_layer(self, table: str, layer: str) -> None:
        """Records that a layer was built on `table`; `layer` is its name in ops."""
        with self._lock:
            self._layers.setdefault(table, []).append(layer)

    def known_tables(self) -> list[str]:
        """Returns the full names of tables that this program created or attached to."""
        with self._lock:
            return sorted(self._tables)

    def knows(self, table: str) -> bool:
        """Returns whether this program created the table or attached to it."""
        return table in self._tables

    def tables(self) -> set[str]:
        """Fetches the full names of all tables that any shard holds."""
        processes = stats.of_session(self.name)
        return {table.name for process in processes for table in process.tables}

    def holds(self, table: str) -> bool:
        """Queries all shards, and returns whether any shard holds the table."""
        return table in self.tables()

    def clear_table(self, table: str) -> None:
        """Removes all rows of a table, once pending updates are applied."""
        self.flush()
        self.writes += 1
        self.loaded.discard(table)
        self._drop_on_shards(table, stays=True)

    def drop_table(self, table: str) -> None:
        """Drops a table on every shard, once pending updates are applied.

        After that, layers of this process that were built on the table raise an error
        that names the dropped table.
        """
        try:
            self.flush()
        except errors.NotFoundError as error:
            logging.warning(
                "updates were lost, since their table no longer exists: %s", error
            )
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
                "Build the model again: this creates the table again, without rows."
            )
            capi.library().persia_session_retire_layer(
                self._key, capi.utf8(layer), capi.utf8(why)
            )

    def _drop_on_shards(self, table: str, *, stays: bool) -> None:
        capi.library().persia_session_drop_table(
            self._key, capi.utf8(table), int(stays)
        )

    def _remedy(self, table: str) -> str:
        dropped = f"`ptf.Table({table!r}).drop()`"
        if self._where == EMBEDDED:
            return f"{dropped}, or `ptf.reset()` for all tables of this process,"
        return dropped

    def flush(self) -> None:
        """Waits until every committed update is applied; raises the first error."""
        capi.library().persia_session_flush(self._key)

    def move_shard(self, index: int, address: str) -> None:
        """Uses another address for a shard, which has moved there.

        Requests that the shard has not answered are sent again, to the new address,
        until their own deadlines. The shard applies an update that arrives twice once.
        `shards` stays the list with which the session was opened. Never blocks.

        Args:
            index: The shard's index in `shards`.
            address: Its new `"host:port"`.

        Raises:
            InvalidArgumentError: if there is no such shard, or the address does not
                parse.
            FailedPreconditionError: if rows are in this process.
        """
        capi.library().persia_session_move_shard(self._key, index, capi.utf8(address))

    def move_address(self, address: str, now_at: str) -> None:
        """Does the same for a shard that is not in `shards`.

        The session may learn of the shard later.

        Args:
            address: The `"host:port"` by which the session knows the shard.
            now_at: The `"host:port"` at which the shard is now.

        Raises:
            InvalidArgumentError: if `now_at` does not parse.
            FailedPreconditionError: if rows are in this process.
        """
        capi.library().persia_session_move_address(
            self._key, capi.utf8(address), capi.utf8(now_at)
        )

    def counters(self) -> dict[str, int]:
        """Returns this session's counters, by name."""
        return counters_of(self._key)

    def staleness_histogram(self) -> list[int]:
        """Returns how many training batches had a staleness of 0, 1, 2, ..."""
        bins = (ctypes.c_uint64 * _STALENESS_BINS)()
        capi.library().persia_session_get_staleness(self._key, bins, len(bins))
        return list(bins)


def counters_of(key: bytes | None = None) -> dict[str, int]:
    """Returns the counters, by name, of the session with this key; zeros for None."""
    counters = capi.Counters()
    capi.library().persia_session_get_counters(key, ctypes.byref(counters))
    return counters.by_name()


_sessions: dict[str, Session] = {}
_sessions_lock = threading.Lock()

# Sessions that flush before they end. They still follow shards that move. Guarded by
# `_sessions_lock`, whose waiters are notified when one has ended.
_closing: dict[str, Session] = {}
_session_ended = threading.Condition(_sessions_lock)

# For the address of each shard that has moved, its new address. Guarded by
# `_sessions_lock`.
_moved: dict[str, str] = {}

# Called for each dropped table, with the names of the session and of the table.
_forgetters: list[Callable[[str, str], None]] = []


def when_dropped(forget: Callable[[str, str], None]) -> None:
    """Registers a function to be called for each dropped table.

    Args:
        forget: Called with the session's name and the table's full name.
    """
    _forgetters.append(forget)


def open_session(
    shards: Sequence[str], options: SessionOptions, store: str = EMBEDDED
) -> Session:
    """Returns this process's session with `shards`, opening it on first use.

    Args:
        shards: `"host:port"` of each shard; empty for an embedded store.
        options: The options for a new session.
        store: The name of the embedded store, if there are no shards.

    Returns:
        The only `Session` with these shards and this timeout. If the session was opened
        before, its other options may differ: see `Session.check_same`. An embedded
        store has one session for all timeouts.
    """
    addresses = ",".join(shards)
    name = f"{addresses} timeout={options.timeout}" if shards else store
    with _sessions_lock:
        # Ends within the session's timeout.
        _session_ended.wait_for(lambda: name not in _closing)
        known = _sessions.get(name)
        if known is not None and known.may_be_replaced(options):
            del _sessions[name]
            capi.library().persia_session_close(capi.utf8(name))
        if name in _sessions:
            return _sessions[name]
        native = options.native(addresses)
        capi.library().persia_session_open(capi.utf8(name), ctypes.byref(native))
        opened = Session(name, addresses or EMBEDDED, options)
        for shard, now_at in _moved.items():
            _move(opened, shard, now_at)
        _sessions[name] = opened
        return opened


def move_shard(address: str, now_at: str) -> None:
    """Makes all sessions of this process use a shard's new address.

    This applies to open sessions and to those that are opened later. The program's
    lists of shards stay as they are: in them, `address` is the name of the shard.

    Args:
        address: The shard's `"host:port"` in the program's lists, or that by which its
            cluster knows it.
        now_at: The `"host:port"` at which the shard is now.

    Raises:
        InvalidArgumentError: if `now_at` does not parse.
    """
    with _sessions_lock:
        for each in (*_sessions.values(), *_closing.values()):
            _move(each, address, now_at)
        # The cluster may know by now where the shard moved to before.
        before = _moved.get(address, address)
        names = [name for name, at in _moved.items() if at in (address, before)]
        _moved.update(dict.fromkeys([address, before, *names], now_at))
        # A list that names this address from now on means the shard that is there.
        _moved.pop(now_at, None)


def _move(moving: Session, address: str, now_at: str) -> None:
    shards = moving.shards.split(",")
    if address in shards:
        moving.move_shard(shards.index(address), now_at)
    elif moving.shards:
        moving.move_address(address, now_at)


@functools.cache
def _ended() -> Totals:
    """The counters of the sessions that have ended. Guarded by `_sessions_lock`."""
    return Totals(counters_of(), _STALENESS_BINS)


def _add_to(totals: Totals, session: Session, *, ended: bool) -> None:
    totals.add(session.counters(), session.staleness_histogram(), ended=ended)


def totals() -> Totals:
    """Returns the counters of all sessions since the program started.

    Those of sessions that have ended are included, so that no counter ever falls.
    """
    with _sessions_lock:
        total = _ended().copy()
        for session in (*_sessions.values(), *_closing.values()):
            _add_to(total, session, ended=False)
    return total


def find_session(name: str) -> Session | None:
    """Returns the open session with this name, or None."""
    return _sessions.get(name)


def close_session(name: str) -> None:
    """Closes a session, if it is open. After that, no code may use the session.

    Raises:
        PersiaError: if an update could not be delivered. The session is closed anyway.
    """
    with _sessions_lock:
        session = _sessions.pop(name, None)
        if session is None:
            return
        _closing[name] = session
    try:
        # Without the lock, since this waits for updates, perhaps for shards that move.
        session.flush()
    finally:
        with _sessions_lock:
            _add_to(_ended(), session, ended=True)
            del _closing[name]
            _session_ended.notify_all()
            capi.library().persia_session_close(capi.utf8(name))


def discard_session(name: str) -> None:
    """Closes a session, if it is open, as if it had never been.

    Its counters do not count for this process. After that, no code may use the session.
    """
    with _sessions_lock:
        session = _sessions.pop(name, None)
    if session is not None:
        session.flush()
        capi.library().persia_session_close(capi.utf8(name))


def close_sessions_of(shards: Collection[str]) -> None:
    """Closes all sessions with any of these shards, before the shards end.

    Later, other servers may get the same addresses, and the program must not use these
    sessions for them.

    Raises:
        PersiaError: if an update could not be delivered. All sessions are closed
            anyway.
    """
    first: errors.PersiaError | None = None
    for each in open_sessions():
        if not set(shards).isdisjoint(each.shards.split(",")):
            try:
                close_session(each.name)
            except errors.PersiaError as error:
                first = first or error
    with _sessions_lock:
        for address, now_at in list(_moved.items()):
            if address in shards or now_at in shards:
                del _moved[address]
    if first is not None:
        raise first


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
    # No caller is left to handle an exception: log the loss.
    try:
        flush_all()
    except errors.PersiaError as error:
        logging.error("updates were lost as the program ended: %s", error)
