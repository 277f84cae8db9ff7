"""`persia status`: shows a cluster's shards, and the counters of shards and tables.

If the shards belong to a cluster, it shows all shards of the cluster, also those that
are not listed: how many slots each owns, its part of the load, and which slots move at
present. The load is what lookups and updates asked for, in ids and in bytes, since each
shard started, or with --measure from now on.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
from collections.abc import Sequence

from persia_tf import stats
from persia_tf.commands import arguments, asking, topology
from persia_tf.commands.columns import align

EXAMPLES = """
persia status 10.0.0.1:7000,10.0.0.2:7000
PERSIA_PS=10.0.0.1:7000,10.0.0.2:7000 persia status
persia status --measure 10 10.0.0.1:7000
persia status --json 10.0.0.1:7000 | python -m json.tool
"""

# The columns of the output about shards: each column's header, and its counter.
PROCESS_COLUMNS = {
    "SHARD": "address",
    "GENERATION": "generation",
    "LOOKUPS": "lookups",
    "UPDATES": "updates",
    "REPEATED": "repeated_updates",
    "LOST": "lost_updates",
    "CONNECTIONS": "connections",
    "BAD FRAMES": "bad_frames",
    "REFUSED": "refused_connections",
}
# The columns of the output about tables: each column's header, and its counter. A ratio
# has two counters, a part and its whole, and a format.
TABLE_COLUMNS: dict[str, str | tuple[str, str, str]] = {
    "DIM": "dim",
    "ROWS": "rows",
    "BYTES": "bytes",
    "BYTES/ROW": ("bytes", "rows", ".1f"),
    "LOAD": ("rows", "index_slots", ".0%"),
    "LOOKED UP": "rows_looked_up",
    "HIT RATE": ("rows_found", "rows_looked_up", ".1%"),
    "UPDATED": "rows_updated",
    "NONFINITE": "nonfinite_gradients",
    "ABSENT": "absent_gradients",
    "EVICTIONS": "evictions",
    "REFUSED": "refused",
}

# What is shown if no shard was asked for its cluster.
_UNKNOWN = topology.Topology(None, "", has_shards=False)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia status`."""
    arguments.add_asked(parser)
    parser.add_argument(
        "--measure",
        type=arguments.seconds,
        metavar="SECONDS",
        help="measure the shards' load for so long, instead of showing that since they "
        "started",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of tables"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the counters of the shards; returns 1 if one of them is down, else 0."""
    answers = asking.ask_each(args)
    cluster = topology.ask(args, answers)
    processes = stats.each_once(itertools.chain(*answers.processes))
    if args.json:
        print(to_json(processes, answers.failures, cluster))
    else:
        print(to_text(processes, answers.failures, cluster))
    return answers.exit_code("persia status")


def to_json(
    processes: Sequence[stats.ProcessStats],
    failures: Sequence[asking.Failure] = (),
    cluster: topology.Topology = _UNKNOWN,
) -> str:
    """Returns the counters as one JSON object, on one line."""
    return json.dumps(
        {
            "processes": [dataclasses.asdict(each) for each in processes],
            "failures": [failure._asdict() for failure in failures],
            **topology.to_json(cluster),
        }
    )


def to_text(
    processes: Sequence[stats.ProcessStats],
    failures: Sequence[asking.Failure] = (),
    cluster: topology.Topology = _UNKNOWN,
) -> str:
    """Returns the counters as text: shards, the cluster, then each table's shards."""
    lines = [
        tuple(getattr(each, name) for name in PROCESS_COLUMNS.values())
        for each in processes
    ]
    nothing = ["-"] * (len(PROCESS_COLUMNS) - 2)
    lines += [(failure.address, "DOWN", *nothing) for failure in failures]
    text = align(tuple(PROCESS_COLUMNS), lines, 1)
    copies = "\n".join(_copy_line(each) for each in processes if each.source)
    text = "\n\n".join(filter(None, [text, copies, topology.to_text(cluster)]))
    tables = sorted(
        ((table, process.address) for process in processes for table in process.tables),
        key=lambda part: part[0].name,
    )
    if not tables:
        return f"{text}\n\nNo tables."
    return f"{text}\n\n{tables_to_text(tables)}"


def tables_to_text(tables: Sequence[tuple[stats.TableStats, str]]) -> str:
    """Returns the counters of tables as text, with one line per table and shard."""
    rows = [
        (table.name, address, *(_cell(table, each) for each in TABLE_COLUMNS.values()))
        for table, address in tables
    ]
    return align(("TABLE", "SHARD", *TABLE_COLUMNS), rows, 2)


def _copy_line(process: stats.ProcessStats) -> str:
    if process.role == "standby":
        return f"{process.address} is a standby of {process.source}."
    replica = f"{process.address} is a replica of {process.source}"
    if process.behind_seconds is None:
        return f"{replica}, which has not received all rows yet."
    return f"{replica}, {process.behind_seconds:.1f} s behind."


def _cell(table: stats.TableStats, column: str | tuple[str, str, str]) -> object:
    if isinstance(column, str):
        return getattr(table, column)
    part, whole, form = column
    if not getattr(table, whole):
        return "-"
    return format(getattr(table, part) / getattr(table, whole), form)
