"""`persia table`: shows and drops the tables of shards."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from persia_tf import errors, stats
from persia_tf.commands import arguments, asking, status
from persia_tf.commands.actions import Actions
from persia_tf.commands.columns import align

# The examples in the help of `persia table`.
EXAMPLES = """
persia table ls 10.0.0.1:7000,10.0.0.2:7000
persia table show user
persia table drop 10.0.0.1:7000,10.0.0.2:7000 user
"""

_SHARDS_VARIABLE = "PERSIA_PS"

_LS_HEADER = ("TABLE", "SHARDS", "DIM", "ROWS", "BYTES")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia table`."""
    actions = Actions(parser, EXAMPLES)
    for name, text, description in (
        (
            "ls",
            "list the tables, summed over all shards",
            "Lists the tables, each on one line, summed over all shards.",
        ),
        (
            "show",
            "show a table on each shard",
            "Shows the counters of one table, with a line for each shard.",
        ),
        (
            "drop",
            "drop a table: its rows and its settings, on every shard",
            "Drops a table, its rows and its settings, on every shard, after it has "
            "asked for confirmation.",
        ),
    ):
        action = actions.add(name, text, description)
        _add_shards(action)
        if name != "ls":
            action.add_argument("name", metavar="NAME", help="the table's full name")
        if name == "drop":
            action.add_argument(
                "--yes", action="store_true", help="drop it without asking"
            )
        else:
            action.add_argument(
                "--json", action="store_true", help="print one JSON object"
            )
        action.add_argument(
            "--timeout",
            type=arguments.seconds,
            default=5.0 if name != "drop" else 60.0,
            metavar="SECONDS",
            help="how long to wait for the shards' answers (%(default)g)",
        )
        arguments.add_auth_token_file(action)
        arguments.add_tls(action)


def _add_shards(parser: argparse.ArgumentParser) -> None:
    listed = os.environ.get(_SHARDS_VARIABLE, "").strip()
    parser.add_argument(
        "shards",
        type=arguments.address_list,
        nargs="?",
        default=listed or None,  # argparse parses a default that is a str.
        metavar="SHARDS",
        help="HOST:PORT,... of the shards, or of embedding workers "
        f"(${_SHARDS_VARIABLE})",
    )


def run(args: argparse.Namespace) -> int:
    """Runs the action; returns 1 if a shard is down or a drop is not confirmed.

    It raises NotFoundError if the shards have no table `args.name`.
    """
    if args.shards is None:
        _refuse_without_shards(args)
    if args.action == "ls":
        return _ls(args)
    if args.action == "show":
        return _show(args)
    return _drop(args)


def _refuse_without_shards(args: argparse.Namespace) -> NoReturn:
    if args.action == "ls":
        given, where = "", ""
    else:
        given = f", since {args.name!r} was read as the table's name"
        where = " before the table's name"
    raise errors.InvalidArgumentError(
        f"no shards are given{given}: give HOST:PORT,...{where}, or set "
        f"${_SHARDS_VARIABLE} to it"
    )


def _ls(args: argparse.Namespace) -> int:
    answers = asking.ask_each(args)
    tables = _whole_tables(_shards(answers))
    if args.json:
        print(json.dumps({"tables": [table._asdict() for table in tables]}))
    elif tables:
        print(align(_LS_HEADER, tables, 1))
    else:
        print("No tables.")
    return answers.exit_code("persia table ls")


def _show(args: argparse.Namespace) -> int:
    answers = asking.ask_each(args)
    parts = _parts(_shards(answers), args.name)
    if args.json:
        shown = [
            {"shard": address, **dataclasses.asdict(part)} for address, part in parts
        ]
        print(json.dumps({"table": args.name, "shards": shown}))
    else:
        print(status.tables_to_text([(part, address) for address, part in parts]))
    return answers.exit_code("persia table show")


def _drop(args: argparse.Namespace) -> int:
    answers = asking.ask_each(args)
    if answers.failures:
        return answers.exit_code("persia table drop")
    rows = sum(part.rows for _, part in _parts(_shards(answers), args.name))
    if not (args.yes or _is_confirmed(args.name, rows)):
        print(f"Kept table '{args.name}'.", file=sys.stderr)
        return 1
    # Imported late, since these modules import NumPy. The process of `persia launch`
    # loads this file too, and threads of NumPy there would receive the signals for
    # which that process waits.
    from persia_tf.cluster import Cluster
    from persia_tf.table import Table

    cluster = Cluster(
        [str(shard) for shard in args.shards],
        timeout=args.timeout,
        auth_token_file=args.auth_token_file,
        tls=arguments.tls_of(args) or False,
    )
    Table(args.name, cluster).drop()
    print(f"Dropped table '{args.name}' with its {rows} rows.")
    return 0


def _is_confirmed(name: str, rows: int) -> bool:
    if not sys.stdin.isatty():
        raise errors.InvalidArgumentError(
            f"to drop table '{name}' with its {rows} rows, give --yes: stdin is not a "
            "terminal, so the command cannot ask for confirmation"
        )
    print(
        f"Table '{name}' has {rows} rows, which can be brought back only from a "
        "checkpoint.\nType its name to drop it: ",
        end="",
        flush=True,
    )
    return sys.stdin.readline().strip() == name


def _shards(answers: asking.Answers) -> list[stats.ProcessStats]:
    """Returns the counters of each shard, without those of embedding workers."""
    return stats.shards_of(itertools.chain(*answers.processes))


class _WholeTable(NamedTuple):
    """The counters of a table, summed over all shards."""

    table: str
    shards: int
    dim: int
    rows: int
    bytes: int


def _whole_tables(shards: Sequence[stats.ProcessStats]) -> list[_WholeTable]:
    names = sorted({table.name for shard in shards for table in shard.tables})
    whole = []
    for name in names:
        parts = [part for _, part in _parts(shards, name)]
        rows = sum(part.rows for part in parts)
        memory = sum(part.bytes for part in parts)
        whole.append(_WholeTable(name, len(parts), parts[0].dim, rows, memory))
    return whole


def _parts(
    shards: Sequence[stats.ProcessStats], name: str
) -> list[tuple[str, stats.TableStats]]:
    parts = [
        (shard.address, table)
        for shard in shards
        for table in shard.tables
        if table.name == name
    ]
    if parts:
        return parts
    names = sorted({table.name for shard in shards for table in shard.tables})
    held = ", ".join(map(repr, names)) or "no table"
    raise errors.NotFoundError(f"there is no table '{name}': the shards hold {held}")
