"""Draws a cluster's view as tables for a terminal, with rich."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from persia_tf.base import extras
from persia_tf.monitoring.cluster_view import (
    ClusterView,
    ServerView,
    TableView,
    TrainerView,
)
from persia_tf.monitoring.page_layout import (
    Cell,
    Column,
    Row,
    Table,
    lines_of,
    shares,
)
from persia_tf.stats import ProcessStats

# So many characters of names are shown before columns are left out: an IPv4 address
# with its port.
_NAME = 21

# Every table fits a terminal of 80 columns. In narrower ones, and beside long names,
# the columns with the highest numbers are left out.
_SERVERS = (
    Column("SERVER", align="<", least=_NAME),
    Column("ROLE", 3, align="<"),
    Column("CONNS", 5),
    Column("FAIL/s", 4),
    Column("MEMORY", 2),
    Column("LIMIT", 1),
    Column("LOG", 6),
    Column("STATE", align="<", least=16, cut="end"),
)
_LOADS = (
    Column("SERVER", align="<", least=_NAME),
    Column("LOOKUP/s"),
    Column("p50", 4),
    Column("p99", 1),
    Column("UPDATE/s"),
    Column("p99", 2),
    Column("IN/s", 5),
    Column("OUT/s", 6),
)
_TABLES = (
    Column("TABLE", align="<", least=_NAME),
    Column("DIM", 6),
    Column("ROWS"),
    Column("BYTES", 1),
    Column("LOAD", 5),
    Column("IDS/s"),
    Column("HITS", 3),
    Column("GRADS/s", 2),
    Column("EVICT/s", 4),
    Column("FULLEST", 7),
)
_TRAINERS = (
    Column("TRAINER", align="<", least=_NAME),
    Column("UPDATE/s"),
    Column("STALENESS", 1),
    Column("MOST", 3),
    Column("IDLE", 2),
)

# The share of a memory limit from which on it is highlighted.
_NEARLY_FULL = 0.9

_ALARM = "bold red"


def page(view: ClusterView, width: int, height: int | None = None) -> Any:
    """Returns the page as a renderable of rich.

    Args:
        view: What it shows.
        width: The columns of the terminal.
        height: The lines of the terminal; None for as many as there are. If not all
            rows fit, each table shows its busiest.

    Raises:
        FailedPreconditionError: If rich is not installed.
    """
    extras.import_of("top", "persia top needs", "rich.console")
    from rich.console import Group
    from rich.text import Text

    tables = [
        Table(_SERVERS, [_server(server) for server in view.servers]),
        Table(_LOADS, [_load(server) for server in view.servers if not server.down]),
        Table(_TABLES, [_table(table) for table in view.tables]),
        Table(_TRAINERS, [_trainer(trainer) for trainer in view.trainers]),
    ]
    tables = [table for table in tables if table.rows]
    summary = textwrap.wrap(_summary(view), width)
    # Each table has an empty line above it, and a header.
    used = len(summary) + 2 * len(tables)
    room = sys.maxsize if height is None else height - used
    parts = [Text(line) for line in summary]
    for table, most in zip(tables, shares([len(t.rows) for t in tables], room)):
        parts += [Text(""), *lines_of(table, width, most)]
    return Group(*parts)


def _summary(view: ClusterView) -> str:
    up = [server for server in view.servers if not server.down]
    shards = [server for server in up if server.role == "shard"]
    rows = sum(table.rows for table in view.tables)
    size = sum(table.bytes for table in view.tables)
    lookups = sum(server.lookups for server in shards)
    updates = sum(server.updates for server in shards)
    return (
        f"{len(up)} of {len(view.servers)} servers up, {len(view.tables)} tables, "
        f"{_count(rows)} rows, {_bytes(size)}; {_count(lookups)} lookups/s, "
        f"{_count(updates)} updates/s over the last {view.seconds:.1f} s"
    )


def _server(server: ServerView) -> Row:
    process = server.stats
    if process is None:
        # What is wrong comes before what is busy.
        down = Cell(_plain(f"DOWN: it {server.down}"), _ALARM)
        return Row([Cell(_plain(server.address)), down], (math.inf,))
    limit = process.memory_limit
    full = limit and process.memory_bytes > _NEARLY_FULL * limit
    share = f"{process.memory_bytes / limit:.0%}" if limit else "-"
    log = _bytes(process.log_bytes) if process.log_records else "-"
    cells = [
        *_cells(server.address, server.role, str(process.connections)),
        *_cells(_count(server.failed), _bytes(process.memory_bytes)),
        Cell(share, _ALARM if full else ""),
        *_cells(log),
        Cell(_plain(_state(process)), _ALARM if process.log_failed else ""),
    ]
    return Row(cells, (bool(process.log_failed or full), *_busy(server)))


def _load(server: ServerView) -> Row:
    cells = _cells(
        *(server.address, _count(server.lookups), _seconds(server.lookup_p50)),
        *(_seconds(server.lookup_p99), _count(server.updates)),
        *(_seconds(server.update_p99), _bytes(server.bytes_in)),
        _bytes(server.bytes_out),
    )
    return Row(cells, _busy(server))


def _busy(server: ServerView) -> tuple[float, float]:
    return server.failed, server.lookups + server.updates


def _state(process: ProcessStats) -> str:
    states = []
    if process.log_failed:
        states.append("LOG FAILED")
    if process.checkpoint_running:
        done = _count(process.checkpoint_rows)
        total = process.checkpoint_total_rows
        states.append(
            f"checkpoint {done}{f' of {_count(total)}' if total else ''} rows"
        )
    if process.lost_updates:
        states.append(f"lost up to {process.lost_updates} updates")
    if process.role == "standby":
        states.append(f"standby of {process.source}")
    elif process.source:
        behind = process.behind_seconds
        late = "copying" if behind is None else f"{behind:.1f} s behind"
        states.append(f"{late} {process.source}")
    return ", ".join(states) or "up"


def _table(table: TableView) -> Row:
    cells = _cells(
        *(table.name, str(table.dim), _count(table.rows), _bytes(table.bytes)),
        *(f"{table.load:.0%}", _count(table.looked_up)),
        "-" if table.hit_rate is None else f"{table.hit_rate:.1%}",
        *(_count(table.updated), _count(table.evicted), f"{table.fullest:.2f}"),
    )
    return Row(cells, (table.looked_up + table.updated, table.rows))


def _trainer(trainer: TrainerView) -> Row:
    cells = _cells(
        *(trainer.program, f"{trainer.updates:.1f}", str(trainer.staleness)),
        *(str(trainer.staleness_max), f"{trainer.idle:.1f} s"),
    )
    return Row(cells, (trainer.updates, -trainer.idle))


def _cells(*texts: str) -> Sequence[Cell]:
    return [Cell(_plain(text)) for text in texts]


def _plain(text: str) -> str:
    """Replaces characters with which a name could change the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _count(value: float) -> str:
    """Returns a count with three digits: "0", "12.3", "456k", "7.89M"."""
    return _scaled(value, 1000, ("", "k", "M", "G", "T"))


def _bytes(value: float) -> str:
    return _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def _scaled(value: float, base: int, units: Sequence[str]) -> str:
    unit = 0
    while value >= 999.5 and unit + 1 < len(units):
        value, unit = value / base, unit + 1
    digits = 0 if value >= 99.95 or value == int(value) else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f}{units[unit]}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1e-3:
        return f"{value * 1e6:.0f}us"
    return f"{value * 1e3:.1f}ms" if value < 1 else f"{value:.1f}s"
