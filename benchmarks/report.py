"""Reruns the tables of PERSIA's paper in kind, and writes them as a page.

    python benchmarks/report.py             # hours; writes docs/report.md
    python benchmarks/report.py --quick     # minutes; writes build/report/quick.md
    python benchmarks/report.py --again     # also what has been run before

`make report` makes the environment too. The whole report also writes the tables of
predictions in docs/planning.md and docs/simulation.md. Each part is a program that runs
in a process of its own; what it printed last is stored in a folder. A part that has
succeeded is not run again unless its command changes, so after an interruption, the
same command goes on; the page says at which commit each part was run. A part that fails
does not stop the others: the page says why it has no figures, and the status is 1.
Parts that need data are absent if $PERSIA_TF_DATA names no folder.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import program_runs
from report_page import write_page
from report_parts import PARTS, Part, chosen, figures_of

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
_FOLDER = _ROOT / "build" / "report"
_DATA = "PERSIA_TF_DATA"
_SHELL_ADDS = 128  # To the number of a signal, for the status of what it has ended.


def template_of(part: Part, quick: bool) -> list[str]:
    """Returns the command of a part, without the names of the folder and the commit."""
    data = [f"{_DATA}=..."] if part.reads_data and os.environ.get(_DATA) else []
    return [*data, *part.command, *(part.quick if quick else part.whole)]


def run_part(
    part: Part, quick: bool, folder: Path, most_seconds: float | None = None
) -> dict[str, Any]:
    """Runs a part.

    Args:
        part: The part.
        quick: Whether only a smoke run.
        folder: The folder of results.
        most_seconds: After this time, it has failed. Defaults to None: never.

    Returns:
        Its result, and how it came about; with the reason if there is no result.
    """
    if part.needs_data and not os.environ.get(_DATA):
        return {"reason": f"its data sets are in no folder that {_DATA} names"}
    template, commit = template_of(part, quick), _commit()
    known = {"{folder}": os.path.relpath(folder, _ROOT), "{commit}": commit}
    command = [_filled(each, known) for each in template]
    kept = sum(_runs_in(each) for each in command if each.endswith(".jsonl"))
    begin = time.monotonic()
    ended = program_runs.run(_started(command), cwd=_ROOT, most_seconds=most_seconds)
    run = {
        "template": template,
        "command": _shown(command),
        "commit": commit,
        "day": datetime.date.today().isoformat(),
        "seconds": time.monotonic() - begin,
        "kept_runs": kept,
        "status": 1 if ended.status is None else ended.status,
    }
    if ended.result:
        return checked(part, {**run, "result": ended.result, "failure": ended.reason})
    return {**run, "reason": ended.reason, "status": run["status"] or 1}


def checked(part: Part, run: dict[str, Any]) -> dict[str, Any]:
    """Returns what is stored of a part, with a reason if it cannot be shown."""
    if "result" not in run:
        return run
    figures = figures_of(run["result"])
    try:
        part.table(figures)
        part.plots(figures)
    except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError) as bad:
        reason = run["failure"] or f"its figures cannot be shown: {bad!r}"
        return {**run, "reason": reason, "status": run["status"] or 1}
    return run


def _runs_in(file: str) -> int:
    """Returns how many runs a file has, which programs go on with: a line each."""
    path = _ROOT / file
    return len(path.read_text().splitlines()) if path.exists() else 0


def _filled(argument: str, known: Mapping[str, str]) -> str:
    for name, value in known.items():
        argument = argument.replace(name, value)
    return argument


def _started(command: Sequence[str]) -> list[str]:
    """Returns what runs a command, which has the environment that we have."""
    program, *arguments = [each for each in command if not each.startswith(_DATA)]
    if program == "persia":
        return [sys.executable, "-m", "persia_tf", *arguments]
    return [sys.executable, str(_HERE / program), *arguments]


def _shown(command: Sequence[str]) -> str:
    """Returns a command as users would write it."""
    words: list[str] = []
    for each in command:
        is_program = each.endswith(".py")
        words += ["python", f"benchmarks/{each}"] if is_program else [each]
    return " ".join(words)


def _commit() -> str:
    """Returns the commit of the checkout, with a mark if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    said = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    return said.stdout.strip() or "an-unknown-commit"


def is_finished(part: Part, run: Mapping[str, Any], quick: bool) -> bool:
    """Returns whether a part need not be run again.

    Args:
        part: The part.
        run: What is stored of it; empty if nothing is.
        quick: Whether a smoke run is needed.
    """
    template = template_of(part, quick)
    return run.get("status") == 0 and run.get("template") == template


def forget(part: Part, folder: Path) -> None:
    """Removes what is stored of a part, and what its program keeps."""
    for file in folder.glob(f"{part.name}.*"):
        file.unlink()


def store(run: Mapping[str, Any], file: Path) -> None:
    """Writes what is stored of a part, all of it or nothing."""
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(run))
    partial.replace(file)


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--only", action="append", choices=[part.name for part in PARTS])
    add("--again", action="store_true", help="also run what has been run before")
    add("--folder", type=Path, default=_FOLDER, help="for results (build/report)")
    add("--page", type=Path, help="the page to write (docs/report.md)")
    add("--most-hours", type=float, default=12.0, help="of a part (%(default)s)")
    arguments = parser.parse_args(given)
    if arguments.page is None:
        quick = arguments.folder / "quick.md"
        arguments.page = quick if arguments.quick else _ROOT / "docs" / "report.md"
    return arguments


def run_all(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Runs the chosen parts that are not finished; returns what is stored of all."""
    kind = "quick" if arguments.quick else "whole"
    folder = arguments.folder.resolve() / kind
    folder.mkdir(parents=True, exist_ok=True)
    files = {part.name: folder / f"{part.name}.json" for part in PARTS}
    for part in chosen(arguments.only):
        file = files[part.name]
        if arguments.again:
            forget(part, folder)
        run = checked(part, _read(file))
        if is_finished(part, run, arguments.quick):
            _log(f"{part.title}: kept from {run['commit']}; --again runs it again")
            continue
        _log(part.title)
        run = run_part(part, arguments.quick, folder, 3600 * arguments.most_hours)
        store(run, file)
        if "reason" in run:
            _log(run["reason"])
    return {
        part.name: checked(part, _read(files[part.name]))
        for part in PARTS
        if files[part.name].exists()
    }


def main() -> int:
    arguments = parse_arguments()
    # So that what it runs is ended too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(_SHELL_ADDS + number))
    stored = run_all(arguments)
    write_page(PARTS, stored, arguments.quick, arguments.page)
    figures = {name: run.get("seconds", 0.0) for name, run in stored.items()}
    setup = {"quick": arguments.quick, "page": str(arguments.page)}
    print(json.dumps({"benchmark": "report", "figures": figures, "setup": setup}))
    # Parts that were not run, since their data is absent, have no status.
    return 1 if any(run.get("status") for run in stored.values()) else 0


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {}


def _log(text: str) -> None:
    print(f"report: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
