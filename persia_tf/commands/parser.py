"""The parser of the command line, and how its help pages look."""

from __future__ import annotations

import argparse
import functools
import textwrap
from typing import Any

from absl.flags import argparse_flags

# Of a help page, which its description and its examples would not fit else.
_COLUMNS = 80


class Parser(argparse_flags.ArgumentParser):
    """A parser whose help page ends with examples.

    Args:
        description: What the command does; its lines are filled anew.
        examples: Commands, whose lines stay as they are.
        **options: As for `argparse.ArgumentParser`.
    """

    def __init__(
        self, *, description: str = "", examples: str = "", **options: Any
    ) -> None:
        super().__init__(
            description=_filled(description),
            epilog="examples:\n" + textwrap.indent(examples.strip("\n"), "  "),
            # argparse's own would make one paragraph of either.
            formatter_class=functools.partial(
                argparse.RawDescriptionHelpFormatter, width=_COLUMNS - 1
            ),
            **options,
        )

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Declares an argument."""
        if "--helpfull" in names:
            # It tells of Abseil's own flags, which are of no use here.
            options["help"] = argparse.SUPPRESS
        return super().add_argument(*names, **options)


def _filled(text: str) -> str:
    """Fills the lines of each paragraph."""
    paragraphs = textwrap.dedent(text).strip().split("\n\n")
    return "\n\n".join(textwrap.fill(each, _COLUMNS - 1) for each in paragraphs)
