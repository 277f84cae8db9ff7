"""`persia top`: shows a cluster's load, live, until Ctrl-C.

Needs `pip install 'persia_tf[top]'`.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from persia_tf.commands import arguments, asking

if TYPE_CHECKING:
    from rich.console import Console

    from persia_tf.monitoring.cluster_view import Sample

EXAMPLES = """
persia top 10.0.0.1:7000,10.0.0.2:7000
PERSIA_PS=10.0.0.1:7000,10.0.0.2:7000 persia top --interval 5
persia top --once 10.0.0.1:7000 > page.txt
"""

# The width of a page that is not written to a terminal.
_COLUMNS = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia top`."""
    arguments.add_asked(parser)
    parser.add_argument(
        "--interval",
        type=arguments.seconds,
        default=2.0,
        metavar="SECONDS",
        help="how long to wait between two samples, over which rates are computed "
        "(%(default)g)",
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="print one page, after two samples, and exit: with 1 if a server is down",
    )


def run(args: argparse.Namespace) -> int:
    """Shows pages until Ctrl-C, or prints one page."""
    from persia_tf.monitoring import cluster_page, cluster_view

    # Fails at once if rich is not installed.
    cluster_page.page(cluster_view.ClusterView(0.0, (), (), ()))
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _COLUMNS, soft_wrap=False)
    return _print_one(args, console) if args.once else _show(args, console)


def _print_one(args: argparse.Namespace, console: Console) -> int:
    from persia_tf.monitoring import cluster_page, cluster_view

    before = _sample(asking.ask_each(args))  # Raises if no server answers.
    time.sleep(args.interval)
    view = cluster_view.cluster_view(before, _sample(asking.collect(args)))
    with console.capture() as captured:
        console.print(cluster_page.page(view))
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))
    return 1 if any(server.down for server in view.servers) else 0


def _show(args: argparse.Namespace, console: Console) -> int:
    from rich.live import Live

    from persia_tf.monitoring import cluster_page, cluster_view

    before: Sample | None = None
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            began = time.monotonic()
            now = _sample(asking.collect(args))
            live.update(
                cluster_page.page(cluster_view.cluster_view(before, now)), refresh=True
            )
            before = now
            time.sleep(max(0.0, args.interval - (time.monotonic() - began)))


def _sample(answers: asking.Answers) -> Sample:
    from persia_tf.monitoring import cluster_view

    return cluster_view.Sample(time.monotonic(), answers.processes, answers.failures)
