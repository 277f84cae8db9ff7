"""The page that report.py writes."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import Any

import native_programs
from report_parts import Part, Table

_HEAD = """\
# Report

The tables of PERSIA's paper ([arXiv 2111.05897](https://arxiv.org/abs/2111.05897)), in
kind, on one machine. Absolute figures depend on the machine, so most are ratios of
sides that take turns. `make report` runs everything again, which takes hours; `make
report REPORT=--quick` takes minutes, and shows only that all of it runs."""
_NOT_SHOWN = """\
## What could not be shown here

- **100 trillion parameters.** One machine holds some thousand million. Only arithmetic
  that starts from measured costs goes further.
- **64 GPUs, 30 parameter servers, a data centre's network.** All processes share the
  cores of one machine and its loopback; distance is simulated by proxies that delay
  what passes them.
- **The paper's own data sets** are not public; public ones stand in for them."""


def page(
    parts: Iterable[Part], stored: Mapping[str, Mapping[str, Any]], quick: bool
) -> str:
    """Returns the report in Markdown.

    Args:
        parts: The parts, in the order of the page.
        stored: What `report.py` stored of each part that was run.
        quick: Whether these are smoke runs.
    """
    sections = [_HEAD]
    if quick:
        sections.append("**These are smoke runs: the figures mean nothing.**")
    sections.append(_set_up())
    missing = []
    for part in parts:
        run = stored.get(part.name, {"reason": "it was not run"})
        if "reason" in run:
            missing.append(f"- **{part.title}**: {run['reason']}.")
        else:
            sections.append(_section(part, run))
    sections.append("\n".join([_NOT_SHOWN, *missing]))
    return "\n\n".join(sections) + "\n"


def _section(part: Part, run: Mapping[str, Any]) -> str:
    measured = (
        f"Measured by `{run['command']}`, in {_duration(run['seconds'])}, at "
        f"{run['commit']}."
    )
    table = markdown_table(part.table(run["result"]["figures"]))
    return "\n\n".join([f"## {part.title}", part.shows, table, measured])


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes"


def markdown_table(table: Table) -> str:
    """Returns a table in Markdown; its first row is the header."""
    header, *rows = [f"| {' | '.join(row)} |" for row in table]
    rule = "|" + "---|" * len(table[0])
    return "\n".join([header, rule, *rows])


def _set_up() -> str:
    machine = native_programs.machine()
    return (
        f"Set-up: {machine['cpu']}, {machine['cores']} virtual cores, kernel "
        f"{machine['kernel']}, Python {platform.python_version()}."
    )
