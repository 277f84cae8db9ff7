"""The page that report.py writes, and its pictures."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import native_programs
from report_parts import Part, figures_of
from report_tables import Table

# The folder of pictures beside the page, and how the names of this page's begin.
_FOLDER, _PREFIX = "pictures", "report_"
# The most letters of a line of text, and of one of code, which the site shows.
_LINE, _CODE_LINE = 100, 80
_GOES_ON = " \\"
_PACKAGES = ("persia_tf", "tensorflow", "keras", "tf_keras", "numpy")
_HEAD = """\
# Report

The kinds of measurements that PERSIA's paper
([arXiv 2111.05897](https://arxiv.org/abs/2111.05897)) has, on one machine. Absolute
figures depend on the machine, so most figures are ratios of programs that were run in
turns. `make report` runs everything again, which takes hours; `make report
REPORT=--quick` takes minutes, and shows only that all of it runs."""
_NOT_SHOWN = """\
## What could not be shown here

- **100 trillion parameters.** One machine holds a few billion. Only arithmetic that
  starts from measured costs goes further: the simulator, whose errors are above.
- **64 GPUs, 30 parameter servers, a data centre's network.** All programs shared the
  {cores} cores of one machine and its loopback, so neither more shards nor more workers
  can be as fast as with machines of their own. Distance was made by proxies that delay
  what passes them; lost packets, and many senders at one port, were not.
- **The paper's own data sets** are not public. Public ones, which are small, and
  generated ids stand in for them.
- **The systems that the paper compares with** were run as packages, each in a few
  processes of one machine, not as their authors would run them on a cluster.
- **Spread.** A figure is the median of few turns on one virtual machine. Differences of
  10% may be chance, and runs on other days and processors, of which
  [benchmarks.md](benchmarks.md) has some, differ by more."""
_NO_GPU = """\
- **GPUs.** The dense parts ran on the processor, where they take most of the time of a
  step. With a GPU they take less, and lookups weigh more."""


def write_page(
    parts: Sequence[Part],
    stored: Mapping[str, Mapping[str, Any]],
    quick: bool,
    path: Path,
) -> None:
    """Writes the report, and its pictures beside it.

    Args:
        parts: The parts, in the order of the page.
        stored: What `report.py` stored of each part that was run.
        quick: Whether these are smoke runs.
        path: The page's file.
    """
    folder = path.parent / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{_PREFIX}*.svg"):
        old.unlink()
    for part in parts:
        for name, (_, svg) in pictures(part, stored.get(part.name, {})).items():
            (folder / name).write_text(svg)
    path.write_text(page(parts, stored, quick))


def pictures(part: Part, run: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Returns what each picture of a part shows, and its SVG, by its file's name."""
    if not run or "reason" in run:
        return {}
    drawn = part.plots(figures_of(run["result"]))
    return {
        f"{_PREFIX}{part.name}{f'_{number}' if number > 1 else ''}.svg": picture
        for number, picture in enumerate(drawn.items(), 1)
    }


def page(
    parts: Sequence[Part], stored: Mapping[str, Mapping[str, Any]], quick: bool
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
    runs = [stored.get(part.name, {"reason": "it was not run"}) for part in parts]
    sections.append(_set_up(runs))
    missing = []
    for part, run in zip(parts, runs):
        if "reason" in run:
            missing.append(_wrapped(f"- **{part.title}.** {_why(run)}", "  "))
        else:
            sections.append(_section(part, run))
    not_shown = _NOT_SHOWN.format(cores=os.cpu_count())
    if not _gpus():
        missing.insert(0, _NO_GPU)
    return "\n\n".join([*sections, "\n".join([not_shown, *missing])]) + "\n"


def _section(part: Part, run: Mapping[str, Any]) -> str:
    kept = run.get("kept_runs", 0)
    earlier = f" (with {kept:,} runs that an earlier start had made)" if kept else ""
    measured = _wrapped(
        f"Made by this command in {_duration(run['seconds'])}{earlier}, on "
        f"{run['day']}, at commit {run['commit']}:"
    )
    lines = _lines(run["command"], _CODE_LINE - len(_GOES_ON), "  ")
    command = "\n".join(["```sh", f"{_GOES_ON}\n".join(lines), "```"])
    table = markdown_table(part.table(figures_of(run["result"])))
    shown = [
        f"![{title}]({_FOLDER}/{name})"
        for name, (title, _) in pictures(part, run).items()
    ]
    failed = (
        [f"**The program failed: {_line(run['failure'])}.**"] if run["status"] else []
    )
    head = f"## {part.title}"
    shows = _wrapped(part.shows)
    return "\n\n".join([head, shows, *failed, table, *shown, measured, command])


def _why(run: Mapping[str, Any]) -> str:
    """Returns why a part has no figures, in a line."""
    reason = _line(run["reason"])
    if "command" not in run:
        return f"Not shown: {reason}."
    return f"`{run['command']}` failed at commit {run['commit']}: {reason}."


def _wrapped(text: str, indent: str = "") -> str:
    return "\n".join(_lines(text, _LINE, indent))


def _lines(text: str, most: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        most,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 120 * 60:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def markdown_table(table: Table) -> str:
    """Returns a table in Markdown; its first row is the header."""
    header, *rows = [f"| {' | '.join(row)} |" for row in table]
    rule = "|" + "---|" * len(table[0])
    return "\n".join([header, rule, *rows])


def _set_up(runs: Iterable[Mapping[str, Any]]) -> str:
    """Returns the machine, the versions, and when and how long parts were run."""
    facts = _facts(list(runs))
    return "\n".join(_wrapped(f"- {name}: {fact}.", "  ") for name, fact in facts)


def _facts(runs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    machine = native_programs.machine()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    yield (
        "Machine",
        f"{machine['cpu']}, {machine['cores']} virtual cores, {memory:.0f} GiB of "
        f"memory, {_gpus() or 'no'} GPUs, kernel {machine['kernel']}",
    )
    versions = ", ".join(f"{name} {version}" for name, version in _versions())
    compiler = machine["compiler"]
    yield "Versions", f"Python {platform.python_version()}, {versions}, {compiler}"
    ran = [run for run in runs if "day" in run]
    if ran:
        days = sorted({run["day"] for run in ran})
        yield "Run", " to ".join(dict.fromkeys([days[0], days[-1]]))
        yield "At commit", ", ".join(dict.fromkeys(run["commit"] for run in ran))
        duration = _duration(sum(run["seconds"] for run in ran))
        kept = sum(run.get("kept_runs", 0) for run in ran)
        less = f", without {kept:,} runs that earlier starts had made" if kept else ""
        yield "Time of all parts", f"{duration}{less}"


def _gpus() -> int:
    return len(list(Path("/dev").glob("nvidia[0-9]*")))


def _versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
