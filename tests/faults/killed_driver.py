"""Runs `persia reshard`, and kills itself when it comes to one of its states.

    python killed_driver.py "before start" --from HOST:PORT --to HOST:PORT,...

A state is "before" or "after" a call of `ClusterAdmin`, or "amid moves": the first
slots have moved.
"""

from __future__ import annotations

import functools
import os
import signal
import sys

from persia_tf.commands.main import parser
from persia_tf.resharding import admin

CALLS = ("join", "topology", "start", "progress", "leave")
STATES = (
    *(f"{when} {call}" for call in CALLS for when in ("before", "after")),
    "amid moves",
)


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killing(state: str, name: str, call):
    @functools.wraps(call)
    def killing(*args, **options):
        if state == f"before {name}":
            _end()
        told = call(*args, **options)
        if state == f"after {name}":
            _end()
        if state == "amid moves" and name == "progress" and told.moved > 0:
            _end()
        return told

    return killing


def main() -> int:
    state, *options = sys.argv[1:]
    for name in CALLS:
        call = getattr(admin.ClusterAdmin, name)
        setattr(admin.ClusterAdmin, name, _killing(state, name, call))
    args = parser().parse_args(["reshard", *options])
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
