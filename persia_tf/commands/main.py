"""The `persia` command."""

from __future__ import annotations

import argparse
import sys

from absl import app

from persia_tf import _version, errors
from persia_tf.commands import checkpoint, launch, ps, serve, status, table, worker
from persia_tf.commands.parser import Parser

_INTERRUPTED = 130

_EXAMPLES = """
persia launch --ps 2 -- python train.py
persia ps --port 7000
persia status 127.0.0.1:7000
persia ps --help
"""


def main() -> None:
    """Runs the command line of this process and exits."""
    app.run(_run, flags_parser=_parse)


def _parse(argv: list[str]) -> argparse.Namespace:
    own, program = _split(argv)
    parser = _parser()
    args, unknown = parser.parse_known_args(own[1:])
    if args.command == "launch" and not program:
        parser.error(f"launch: say after -- what to run: {launch.USAGE}")
    if unknown:
        parser.error(f"{args.command}: unknown arguments: {' '.join(unknown)}")
    if args.command != "launch" and program is not None:
        parser.error(f"{args.command}: takes no -- and nothing after it")
    args.program = program
    return args


def _split(argv: list[str]) -> tuple[list[str], list[str] | None]:
    """Splits the arguments at "--", after which the program of `persia launch` is."""
    if "--" not in argv:
        return argv, None
    end = argv.index("--")
    return argv[:end], argv[end + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="persia",
        description="Runs and inspects persia_tf's servers.",
        examples=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=_version.__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module, text, usage in (
        ("ps", ps, "run a parameter server shard", None),
        ("worker", worker, "run an embedding worker in front of shards", None),
        ("serve", serve, "serve a model over TensorFlow Serving's APIs", None),
        ("status", status, "show the counters of shards and their tables", None),
        ("table", table, "show and drop the tables of shards", None),
        ("checkpoint", checkpoint, "save, restore, list and verify rows", None),
        ("launch", launch, "run a program beside shards of its own", launch.USAGE),
    ):
        command = commands.add_parser(
            name,
            help=text,
            description=_description(module.__doc__),
            examples=module.EXAMPLES,
            usage=usage,
            allow_abbrev=False,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _description(docstring: str) -> str:
    """Returns a command's description: its module's docstring after the first colon."""
    text = docstring.partition(": ")[2]
    return text[0].upper() + text[1:]


def _run(args: argparse.Namespace) -> int:
    try:
        return args.run(args)
    except (errors.PersiaError, OSError) as error:
        print(f"persia {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    main()
