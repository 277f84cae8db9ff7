"""`persia simulate`: simulates a cluster, and says what of it breaks first.

A discrete-event simulation of trainers, embedding workers and shards predicts the
throughput and the times of steps, lookups and updates, from what benchmarks have
measured of each piece of work. Limits of connections, metadata, memory, checkpoints,
recoveries, stragglers and hot rows are listed with the headroom that they have. No
process is started. docs/simulation.md says what the model leaves out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from persia_tf.commands import arguments
from persia_tf.simulation.options import OPTIONS

if TYPE_CHECKING:
    from persia_tf.simulation.report import Report

# The examples in the help of `persia simulate`.
EXAMPLES = """
persia simulate --list
persia simulate --example paper --sensitivity --html paper.html
persia simulate --trainers 8 --shards 4 --same-machine no --network 25Gb
persia simulate --plan plan.json --shards 8 --shard-memory 64GiB --json -
"""

# The exit status for arguments that are refused, as argparse's.
_REFUSED = 2

_STDOUT = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia simulate`."""
    parser.add_argument(
        "--example",
        metavar="NAME",
        help="begin with the values of an example: see --list (default: the defaults "
        "of the options below)",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the examples, and simulate nothing"
    )
    parser.add_argument(
        "--plan",
        metavar="FILE",
        help="take tables, ids, rows and bytes, and the dense part if the plan has "
        "times, from a plan that `persia plan --json FILE` has written",
    )
    # Their values are parsed later, so that errors are one line.
    for option, metavar, text in OPTIONS:
        parser.add_argument(option, metavar=metavar, help=text)
    parser.add_argument(
        "--costs",
        metavar="FILE",
        help="what work takes, as benchmarks/cost_bench.py writes it (default: as "
        "measured for this release)",
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        help="how many steps of each trainer to simulate (default: at most 200; as "
        "many as have 100,000 requests, which take up to two minutes)",
    )
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="also simulate half and twice of each assumption",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write the report to a file as JSON; with -, print it as JSON instead of "
        "text",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write the report to a file as a page with plots"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the report; returns 2 for a wrong argument."""
    # Imported here, since other commands need no numpy.
    from persia_tf.simulation.examples import examples

    if args.list:
        for example in examples().values():
            print(f"{example.name:14}{example.title}")
        return 0
    try:
        for option in ("json", "html"):
            _check_file(option, getattr(args, option))
        reported = _reported(args)
    except _RefusedError as refused:
        print(f"persia simulate: {refused}", file=sys.stderr)
        return _REFUSED
    if args.json == _STDOUT:
        print(reported.to_json())
    else:
        print(reported)
        if args.json:
            Path(args.json).write_text(f"{reported.to_json(indent=2)}\n")
    if args.html:
        reported.to_html(args.html)
    return 0


class _RefusedError(Exception):
    """An argument that is refused, with what is wrong about it."""


def _reported(args: argparse.Namespace) -> Report:
    from persia_tf.simulation.report import report
    from persia_tf.simulation.values import RefusedError, chosen, costs_of, steps_of

    try:
        example = chosen(vars(args))
        costs = costs_of(args.costs)
        steps = steps_of(args.steps, example.setup)
    except RefusedError as error:
        raise _RefusedError(" ".join(str(error).split())) from error
    return report(example, costs, steps=steps, with_sensitivity=args.sensitivity)


def _check_file(option: str, text: str | None) -> None:
    if text is None or (text == _STDOUT and option == "json"):
        return
    try:
        arguments.file_to_create(text)
    except argparse.ArgumentTypeError as error:
        raise _RefusedError(f"--{option}: {error}") from error
