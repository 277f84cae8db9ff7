"""Draws a cluster's view as tables for a terminal, with rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from persia_tf.base import extras
from persia_tf.monitoring.cluster_view import (
    ClusterView,
    ServerView,
    TableView,
    TrainerView,
)
from persia_tf.stats import ProcessStats

# Every table fits a terminal of 80 columns, unless names are long.
_SERVERS = ("SERVER", "ROLE", "CONNS", "FAIL/s", "MEMORY", "LIMIT", "LOG", "STATE")
_LOADS = (*("SERVER", "LOOKUP/s", "p50", "p99", "UPDATE/s", "p99", "IN/s", "OUT/s"),)
_TABLES = (
    *("TABLE", "DIM", "ROWS", "BYTES", "LOAD", "IDS/s", "HITS", "GRADS/s"),
    *("EVICT/s", "FULLEST"),
)
_TRAINERS = ("TRAINER", "UPDATE/s", "STALENESS", "MOST", "IDLE")

# The leftmost columns of each table, which are texts.
_TEXTS = {"SERVER", "ROLE", "STATE", "TABLE", "TRAINER"}

# The share of a memory limit from which on it is highlighted.
_NEARLY_FULL = 0.9


def page(view: ClusterView) -> Any:
    """Returns the page as a renderable of rich.

    Raises:
        FailedPreconditionError: If rich is not installed.
    """
    extras.import_of("top", "persia top needs", "rich.console")
    from rich.console import Group
    from rich.text import Text

    tables = (
        (_SERVERS, map(_server, view.servers)),
        (_LOADS, [_load(server) for server in view.servers if not server.down]),
        (_TABLES, map(_table_line, view.tables)),
        (_TRAINERS, map(_trainer, view.trainers)),
    )
    drawn = [_table(header, lines) for header, lines in tables]
    parts = [Text(_summary(view))]
    for table in drawn:
        if table.row_count:
            parts += [Text(""), table]
    return Group(*parts)


def _table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for name in header:
        is_text = name in _TEXTS
        table.add_column(
            name,
            justify="left" if is_text else "right",
            no_wrap=not is_text,
            overflow="fold",
        )
    for line in lines:
        # As `Text`, names of tables and programs cannot be taken for rich's markup.
        table.add_row(
            *(_plain(cell) if isinstance(cell, str) else cell for cell in line)
        )
    return table


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text("".join(c if c.isprintable() else "?" for c in text))


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


def _server(server: ServerView) -> Sequence[Any]:
    from rich.text import Text

    process = server.stats
    if process is None:
        blank = [""] * (len(_SERVERS) - 2)
        return [server.address, *blank, Text(f"DOWN: it {server.down}", "bold red")]
    limit = process.memory_limit
    full = limit and process.memory_bytes > _NEARLY_FULL * limit
    share = f"{process.memory_bytes / limit:.0%}" if limit else "-"
    return [
        *(server.address, server.role, str(process.connections)),
        *(_count(server.failed), _bytes(process.memory_bytes)),
        Text(share, "bold red" if full else ""),
        _bytes(process.log_bytes) if process.log_records else "-",
        _state(server, process),
    ]


def _load(server: ServerView) -> Sequence[str]:
    return [
        *(server.address, _count(server.lookups), _seconds(server.lookup_p50)),
        *(_seconds(server.lookup_p99), _count(server.updates)),
        *(_seconds(server.update_p99), _bytes(server.bytes_in)),
        _bytes(server.bytes_out),
    ]


def _state(server: ServerView, process: ProcessStats) -> Any:
    from rich.text import Text

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
    if process.source:
        behind = process.behind_seconds
        late = "copying" if behind is None else f"{behind:.1f} s behind"
        states.append(f"of {process.source}, {late}")
    return Text(", ".join(states) or "up", "bold red" if process.log_failed else "")


def _table_line(table: TableView) -> Sequence[str]:
    return [
        *(table.name, str(table.dim), _count(table.rows), _bytes(table.bytes)),
        *(f"{table.load:.0%}", _count(table.looked_up)),
        "-" if table.hit_rate is None else f"{table.hit_rate:.1%}",
        *(_count(table.updated), _count(table.evicted), f"{table.fullest:.2f}"),
    ]


def _trainer(trainer: TrainerView) -> Sequence[str]:
    return [
        *(trainer.program, f"{trainer.updates:.1f}", str(trainer.staleness)),
        *(str(trainer.staleness_max), f"{trainer.idle:.1f} s"),
    ]


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
