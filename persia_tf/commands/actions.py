"""The actions of a command, such as `ls` of `persia table`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence


class Actions:
    """Declares the actions of a command.

    Args:
        parser: The command's parser.
        examples: Lines such as `persia table ls SHARDS`, each of which is an example of
            the action in it.
        own: By action, examples instead of those lines. Defaults to None.
    """

    def __init__(
        self,
        parser: argparse.ArgumentParser,
        examples: str,
        own: Mapping[str, str] | None = None,
    ) -> None:
        self._actions = parser.add_subparsers(
            dest="action", metavar="ACTION", required=True
        )
        self._examples = [line for line in examples.splitlines() if line]
        self._own = own or {}

    def add(self, name: str, text: str, description: str) -> argparse.ArgumentParser:
        """Declares an action, and returns the parser of its options."""
        return self._actions.add_parser(
            name,
            help=text,
            description=description,
            examples=self._own.get(name) or "\n".join(_of_action(self._examples, name)),
            allow_abbrev=False,
        )


def _of_action(examples: Sequence[str], name: str) -> list[str]:
    return [line for line in examples if line.split()[2] == name]
