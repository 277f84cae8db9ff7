"""`persia status`: shows the counters of shards and of their tables."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence

from persia_tf import stats
from persia_tf.commands import arguments, asking

EXAMPLES = """
persia status 10.0.0.1:7000,10.0.0.2:7000
PERSIA_PS=10.0.0.1:7000,10.0.0.2:7000 persia status
persia status --json 10.0.0.1:7000 | python -m json.tool
"""

_PROCESS_HEADER = (
    "SHARD",
    "GENERATION",
    "LOOKUPS",
    "UPDATES",
    "REPEATED",
    "CONNECTIONS",
    "BAD FRAMES",
    "REFUSED",
)
_TABLE_HEADER = (
    "TABLE",
    "SHARD",
    "DIM",
    "ROWS",
    "BYTES",
    "BYTES/ROW",
    "LOAD",
    "LOOKED UP",
    "HIT RATE",
    "UPDATED",
    "NONFINITE",
    "ABSENT",
    "EVICTIONS",
    "REFUSED",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia status`."""
    arguments.add_shards(
        parser,
        "shards",
        "the shards to ask, or embedding workers, which tell of their shards too",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="how long to wait for their answers (%(default)g)",
    )
    arguments.add_auth_token_file(parser)
    arguments.add_tls(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the counters of the shards; returns 1 if one of them is down, else 0."""
    answers = asking.ask_each(args)
    processes = each_once([each for told in answers.processes for each in told])
    if args.json:
        print(to_json(processes, answers.failures))
    else:
        print(to_text(processes, answers.failures))
    return answers.exit_code("persia status")


def each_once(processes: Sequence[stats.ProcessStats]) -> list[stats.ProcessStats]:
    """Removes duplicates: several embedding workers report the same shards."""
    first: dict[str, stats.ProcessStats] = {}
    for each in processes:
        first.setdefault(each.address, each)
    return list(first.values())


def to_json(
    processes: Sequence[stats.ProcessStats], failures: Sequence[asking.Failure] = ()
) -> str:
    """Returns the counters as one JSON object, on one line."""
    return json.dumps(
        {
            "processes": [dataclasses.asdict(each) for each in processes],
            "failures": [failure._asdict() for failure in failures],
        }
    )


def to_text(
    processes: Sequence[stats.ProcessStats], failures: Sequence[asking.Failure] = ()
) -> str:
    """Returns the counters as text: a table of the shards, then one of their tables."""
    lines = [_process_row(each) for each in processes]
    nothing = ["-"] * (len(_PROCESS_HEADER) - 2)
    lines += [(failure.address, "DOWN", *nothing) for failure in failures]
    text = align(_PROCESS_HEADER, lines, 1)
    replicas = [_replica_line(each) for each in processes if each.source]
    text = "\n\n".join([text, *(["\n".join(replicas)] if replicas else [])])
    tables = sorted(
        ((table, process.address) for process in processes for table in process.tables),
        key=lambda part: part[0].name,
    )
    if not tables:
        return f"{text}\n\nNo tables."
    return f"{text}\n\n{tables_to_text(tables)}"


def tables_to_text(tables: Sequence[tuple[stats.TableStats, str]]) -> str:
    """Returns the counters of tables' parts as text, with their shards' addresses."""
    rows = [_table_row(table, address) for table, address in tables]
    return align(_TABLE_HEADER, rows, 2)


def _replica_line(process: stats.ProcessStats) -> str:
    replica = f"{process.address} is a replica of {process.source}"
    if process.behind_seconds is None:
        return f"{replica}, which has not got all rows yet."
    return f"{replica}, {process.behind_seconds:.1f} s behind."


def _process_row(process: stats.ProcessStats) -> tuple[object, ...]:
    return (
        process.address,
        process.generation,
        process.lookups,
        process.updates,
        process.repeated_updates,
        process.connections,
        process.bad_frames,
        process.refused_connections,
    )


def _table_row(table: stats.TableStats, address: str) -> tuple[object, ...]:
    return (
        table.name,
        address,
        table.dim,
        table.rows,
        table.bytes,
        _ratio(table.bytes, table.rows, ".1f"),
        _ratio(table.rows, table.index_slots, ".0%"),
        table.rows_looked_up,
        _ratio(table.rows_found, table.rows_looked_up, ".1%"),
        table.rows_updated,
        table.nonfinite_gradients,
        table.absent_gradients,
        table.evictions,
        table.refused,
    )


def _ratio(part: int, whole: int, form: str) -> str:
    return format(part / whole, form) if whole else "-"


def align(
    header: Sequence[str], rows: Sequence[Sequence[object]], text_columns: int
) -> str:
    """Aligns columns: the first `text_columns` to the left, the others to the right."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < text_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths))
        )
        for row in cells
    )
