"""The command line's parser, and the layout of its help pages."""

from __future__ import annotations

import argparse
import functools
import textwrap
from typing import Any

from absl.flags import argparse_flags

# The width of help pages, which descriptions and examples are written for.
_COLUMNS = 80


class Parser(argparse_flags.ArgumentParser):
    """A parser whose help page ends with examples.

    Args:
        description: What the command does; its paragraphs are re-wrapped.
        examples: Example commands, whose lines are not changed.
        **options: As for `argparse.ArgumentParser`.
    """

    def __init__(
        self, *, description: str = "", examples: str = "", **options: Any
    ) -> None:
        super().__init__(
            description=_filled(description),
            epilog="examples:\n" + textwrap.indent(examples.strip("\n"), "  "),
            # argparse's default formatter would merge each of them into one paragraph.
            formatter_class=functools.partial(
                argparse.RawDescriptionHelpFormatter, width=_COLUMNS - 1
            ),
            **options,
        )

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Declares an argument."""
        if "--helpfull" in names:
            # Hide it: it shows Abseil's own flags, which have no use here.
            options["help"] = argparse.SUPPRESS
        return super().add_argument(*names, **options)


def _filled(text: str) -> str:
    """Wraps the lines of each paragraph."""
    paragraphs = textwrap.dedent(text).strip().split("\n\n")
    return "\n\n".join(textwrap.fill(each, _COLUMNS - 1) for each in paragraphs)
