"""`persia promote`: makes a standby take the place of its primary.

The standby asks its primary to give up, so nothing is lost, and programs go on with
the standby. If the primary is lost, give --primary-is-gone. The command may be given
again, from any machine: a standby that was promoted already stays what it is.
"""

from __future__ import annotations

import argparse

from persia_tf.commands import arguments

# The examples in the help of `persia promote`.
EXAMPLES = """
persia promote 10.0.0.2:7000
persia promote 10.0.0.2:7000 --primary-is-gone
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `persia promote`."""
    parser.add_argument(
        "address",
        type=arguments.address,
        metavar="HOST:PORT",
        help="the standby, a process that persia ps --standby-of has started",
    )
    parser.add_argument(
        "--primary-is-gone",
        action="store_true",
        help="do not ask the primary: its process has ended, or no program will ever "
        "reach it again. If that is not true, updates that it acknowledges are lost, "
        "unless it has --acknowledge standby",
    )
    parser.add_argument(
        "--timeout",
        type=arguments.seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long to wait for an answer (%(default)g)",
    )
    arguments.add_auth_token_file(parser)
    arguments.add_tls(parser)


def run(args: argparse.Namespace) -> int:
    """Promotes the standby; raises PersiaError if it, or its primary, refuses."""
    # Imported late, since it loads the native library: help pages do not need that.
    from persia_tf.resharding.promotion import promote

    promote(
        str(args.address),
        primary_is_gone=args.primary_is_gone,
        timeout=args.timeout,
        auth_token_file=args.auth_token_file,
        tls=arguments.tls_of(args),
    )
    print(f"{args.address} serves the rows of its primary, and has taken its place")
    return 0
