"""Writes docs/commands.md: every command of `persia`, with its options.

    python tools/commands_page.py

The page is generated from what the commands declare, so it agrees with their help
pages. A test fails if the file is not up to date.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from persia_tf.commands import main

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"

_HEAD = """\
# Commands

What `persia COMMAND --help` says. (`python tools/commands_page.py` writes this page.)
"""


def page() -> str:
    """Returns the page's text."""
    sections = [_section(parser) for parser in _commands(main.parser())]
    return "\n".join([_HEAD, *sections])


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yields the parsers of all commands that can run, in the order of the help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _commands(command)
            return
    yield parser


def _section(parser: argparse.ArgumentParser) -> str:
    examples = (parser.epilog or "").partition("\n")[2]
    lines = [f"## {parser.prog}", ""]
    lines += [parser.description, ""] if parser.description else []
    lines += ["```sh"]
    lines += [line.strip() for line in examples.splitlines()]
    lines += ["```", "", "| option | |", "|---|---|"]
    lines += [
        f"| {_names(action)} | {_help(action)} |"
        for action in parser._actions
        if action.help != argparse.SUPPRESS and action.dest != "help"
    ]
    return "\n".join(lines) + "\n"


def _names(action: argparse.Action) -> str:
    values = action.metavar or "|".join(map(str, action.choices or ()))
    if not action.option_strings:
        names = str(values or action.dest)
    elif action.nargs == 0:
        names = ", ".join(action.option_strings)
    else:
        name = "/".join(action.option_strings)
        names = f"{name} {values or action.dest.upper()}"
    return f"`{names}`".replace("|", "\\|")


def _help(action: argparse.Action) -> str:
    text = (action.help or "") % vars(action)
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
