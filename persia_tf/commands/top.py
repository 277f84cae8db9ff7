"""`persia top`: shows a cluster's load, live, until Ctrl-C.

If the output is not a terminal, it prints one page after the other.

Needs `pip install 'persia_tf[top]'`.
"""

from __future__ import annotations

import argparse
import os
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
persia top --interval 60 10.0.0.1:7000 >> pages.txt
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
    cluster_page.page(cluster_view.ClusterView(0.0, (), (), ()), _COLUMNS)
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else _COLUMNS, soft_wrap=False)
    if is_terminal and not args.once:
        return _show(args, console)
    try:
        return _print(args, console)
    except BrokenPipeError:
        # The reader, such as `head`, has enough. Python flushes stdout as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _print(args: argparse.Namespace, console: Console) -> int:
    """Prints one page, or with an empty line between them one page after the other."""
    from persia_tf.monitoring import cluster_page, cluster_view

    before = _sample(asking.ask_each(args))  # Raises if no server answers.
    while True:
        time.sleep(max(0.0, args.interval - (time.monotonic() - before.seconds)))
        now = _sample(asking.collect(args))
        view = cluster_view.cluster_view(before, now)
        with console.capture() as captured:
            console.print(cluster_page.page(view, console.width))
        lines = [line.rstrip() for line in captured.get().splitlines()]
        # Nothing is left in the buffer of stdout: rich flushes it with the next page,
        # and exits with 1 if the reader has gone.
        print("\n".join(lines), end="\n" if args.once else "\n\n", flush=True)
        if args.once:
            return 1 if any(server.down for server in view.servers) else 0
        before = now


def _show(args: argparse.Namespace, console: Console) -> int:
    from rich.live import Live

    from persia_tf.monitoring import cluster_page, cluster_view

    before: Sample | None = None
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            began = time.monotonic()
            now = _sample(asking.collect(args))
            view = cluster_view.cluster_view(before, now)
            page = cluster_page.page(view, console.width, console.height)
            live.update(page, refresh=True)
            before = now
            time.sleep(max(0.0, args.interval - (time.monotonic() - began)))


def _sample(answers: asking.Answers) -> Sample:
    from persia_tf.monitoring import cluster_view

    return cluster_view.Sample(time.monotonic(), answers.processes, answers.failures)
