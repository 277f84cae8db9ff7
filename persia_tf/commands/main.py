"""The `persia` command."""

from __future__ import annotations

import argparse
import difflib
import functools
import os
import sys
import textwrap
from typing import Any, NoReturn

from absl import app
from absl.flags import argparse_flags

from persia_tf import _version, errors
from persia_tf.base.addresses import METRICS_PORT_VARIABLE
from persia_tf.commands import (
    checkpoint,
    data,
    kubernetes,
    launch,
    plan,
    promote,
    ps,
    reshard,
    serve,
    simulate,
    status,
    table,
    top,
    worker,
)

# The width of help pages; examples are not wrapped, and must not be wider.
_COLUMNS = 80

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
    args, unknown = parser().parse_known_args(own[1:])
    if args.command == "launch" and not program:
        args.parser.error("give the program to run after --")
    if unknown:
        args.parser.refuse(unknown)
    if args.command != "launch" and program is not None:
        args.parser.error("takes neither -- nor anything after it")
    args.program = program
    return args


def _split(argv: list[str]) -> tuple[list[str], list[str] | None]:
    """Splits the arguments at "--", which precedes the program of `persia launch`."""
    if "--" not in argv:
        return argv, None
    end = argv.index("--")
    return argv[:end], argv[end + 1 :]


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line, with all commands of `persia`."""
    persia = _Parser(
        prog="persia",
        description="Runs and inspects persia_tf's servers.",
        examples=_EXAMPLES,
    )
    persia.add_argument("--version", action="version", version=_version.__version__)
    commands = persia.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module, text, usage in (
        ("ps", ps, "run a parameter server shard", None),
        ("worker", worker, "run an embedding worker in front of shards", None),
        ("data", data, "run data workers, and their dispatcher", None),
        ("serve", serve, "serve a model over TensorFlow Serving's APIs", None),
        ("status", status, "show the counters of shards and their tables", None),
        ("top", top, "show a cluster's load, live", None),
        ("table", table, "show and drop the tables of shards", None),
        ("plan", plan, "predict what a run needs, from a sample of its batches", None),
        (
            "simulate",
            simulate,
            "predict a cluster's speed, and what breaks first",
            None,
        ),
        ("reshard", reshard, "add, remove and replace the shards of a cluster", None),
        ("promote", promote, "make a standby take its primary's place", None),
        ("kubernetes", kubernetes, "move rows when Kubernetes scales the shards", None),
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
    return persia


def _description(docstring: str) -> str:
    """Returns a command's description: its module's docstring after the first colon."""
    text = docstring.partition(": ")[2]
    return text[0].upper() + text[1:]


def _run(args: argparse.Namespace) -> int:
    if args.command != "launch":
        # It is for programs that train. In such a program's environment, a command
        # that opens a session must not take its port.
        os.environ.pop(METRICS_PORT_VARIABLE, None)
    try:
        return args.run(args)
    except (errors.PersiaError, OSError) as error:
        print(f"persia {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


class _Parser(argparse_flags.ArgumentParser):
    """A parser whose help page ends with examples.

    After parsing, `parser` of the namespace is the parser of the command, or of its
    action: that of the last word which names one.

    Args:
        description: What the command does; its paragraphs are re-wrapped.
        examples: Example commands, whose lines are not changed.
        **options: Keyword arguments of `argparse.ArgumentParser`.
    """

    def __init__(
        self, *, description: str = "", examples: str = "", **options: Any
    ) -> None:
        self._flags: list[str] = []
        super().__init__(
            description=_filled(description),
            epilog="examples:\n" + textwrap.indent(examples.strip("\n"), "  "),
            # argparse's default formatter would merge the lines of the examples.
            formatter_class=functools.partial(
                argparse.RawDescriptionHelpFormatter, width=_COLUMNS - 1
            ),
            **options,
        )
        self.set_defaults(parser=self)

    def refuse(self, unknown: list[str]) -> NoReturn:
        """Ends the process, with an error that names arguments it does not know."""
        hints = [self._hint(each.partition("=")[0]) for each in unknown]
        told = "".join(dict.fromkeys(hints))  # Each hint once.
        self.error(f"unknown arguments: {' '.join(unknown)}{told}")

    def _hint(self, word: str) -> str:
        if word in self._flags:
            return f"; give {word} after {self.prog}"
        near = difflib.get_close_matches(word, self._flags, n=1)
        return f"; did you mean {near[0]}?" if near else ""

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Declares an argument, and hides Abseil's --helpfull from the help."""
        if "--helpfull" in names:
            # --helpfull shows Abseil's own flags, which `persia` does not use.
            options["help"] = argparse.SUPPRESS
        if options.get("help") != argparse.SUPPRESS:  # As of Abseil's flags.
            self._flags += [name for name in names if name.startswith("--")]
        return super().add_argument(*names, **options)


def _filled(text: str) -> str:
    """Wraps the lines of each paragraph."""
    paragraphs = textwrap.dedent(text).strip().split("\n\n")
    return "\n\n".join(textwrap.fill(each, _COLUMNS - 1) for each in paragraphs)


if __name__ == "__main__":
    main()
