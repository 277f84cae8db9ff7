"""Prints comments, docstrings and paragraphs taken at random, to review the prose.

    python tools/prose_sample.py --seed 1
    python tools/prose_sample.py --seed 1 --count 20 cc/store docs

Each passage is printed below its place, file:line. A seed gives the same sample on the
same commit. Tests are left out unless they are named.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_PLACES = [
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs"),
    *("cc", "persia_tf", "benchmarks", "examples", "tools"),
]
# Shorter passages are labels and names.
_LEAST_WORDS = 5


def passages(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the line where a passage begins, and the passage."""
    text = path.read_text()
    if path.suffix == ".md":
        found = _paragraphs(
            re.sub(r"^(```|~~~).*?^\1", _blank, text, flags=re.M | re.S)
        )
    elif path.suffix == ".py":
        found = [*_docstrings(text), *_comments(_python_comments(text))]
    else:
        lines = enumerate(map(str.strip, text.splitlines()), 1)
        found = _comments(
            (number, line[2:]) for number, line in lines if line.startswith("//")
        )
    for line, passage in found:
        if len(re.findall(r"[A-Za-z]{2,}", passage)) >= _LEAST_WORDS:
            yield line, passage


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def _paragraphs(text: str, first: int = 1) -> Iterator[tuple[int, str]]:
    lines: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], first):
        if line.strip():
            lines.append(line)
        elif lines:
            yield number - len(lines), "\n".join(lines)
            lines = []


def _docstrings(text: str) -> Iterator[tuple[int, str]]:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, owners) and ast.get_docstring(node) is not None:
            yield from _paragraphs(node.body[0].value.value, node.body[0].lineno)


def _python_comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            yield token.start[0], token.string[1:]


def _comments(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Joins comments on adjacent lines."""
    comment: list[str] = []
    begin = 0
    for number, line in lines:
        if comment and number != begin + len(comment):
            yield begin, "\n".join(comment)
            comment = []
        if not comment:
            begin = number
        comment.append(line)
    if comment:
        yield begin, "\n".join(comment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("places", nargs="*", default=_PLACES)
    arguments = parser.parse_args()
    command = ["git", "ls-files", "--", *arguments.places]
    tracked = subprocess.check_output(command, cwd=_ROOT, text=True).splitlines()
    found = [
        (name, line, passage)
        for name in sorted(tracked)
        if name.endswith((".cc", ".h", ".py", ".md"))
        for line, passage in passages(_ROOT / name)
    ]
    sample = random.Random(arguments.seed).sample(found, arguments.count)
    for number, (name, line, passage) in enumerate(sample, 1):
        print(f"--- {number} of {len(found)}: {name}:{line}\n{passage}\n")


if __name__ == "__main__":
    main()
