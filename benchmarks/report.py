"""Reruns the tables of PERSIA's paper in kind, and writes them as a page.

    python benchmarks/report.py             # hours; writes docs/report.md
    python benchmarks/report.py --quick     # minutes; writes build/report/quick.md
    python benchmarks/report.py --resume    # only what has not been run yet

`make report` makes the environment too. Each part is a benchmark that runs in a process
of its own; what it printed last is stored in a folder, and `--resume` does not run it
again. A part that fails does not stop the others: the page says why it is absent, and
the status is 1. Parts that need data are absent if $PERSIA_TF_DATA names no folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from report_page import page
from report_parts import PARTS, Part, chosen

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent
_FOLDER = _ROOT / "build" / "report"


def run_part(part: Part, quick: bool) -> dict[str, Any]:
    """Runs a part; returns its result, or the reason why there is none."""
    if part.needs_data and not os.environ.get("PERSIA_TF_DATA"):
        return {"reason": "its data sets are in no folder that PERSIA_TF_DATA names"}
    program, *arguments = part.command
    arguments += part.quick if quick else ()
    begin = time.monotonic()
    ended = subprocess.run(
        [sys.executable, str(_HERE / program), *arguments],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = ended.stdout.splitlines()
    try:
        result = json.loads(lines[-1])
        part.table(result["figures"])
    except (IndexError, KeyError, ValueError, TypeError) as error:
        reason = f"{program} ended with {ended.returncode}: {error!r}"
        return {"reason": reason, "status": ended.returncode or 1}
    return {
        "command": " ".join(["python", f"benchmarks/{program}", *arguments]),
        "commit": _commit(),
        "seconds": time.monotonic() - begin,
        "status": ended.returncode,
        "result": result,
    }


def _commit() -> str:
    """Returns the commit of the checkout, with a mark if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    said = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    return said.stdout.strip() or "an unknown commit"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--only", action="append", choices=[part.name for part in PARTS])
    add("--resume", action="store_true", help="do not rerun what has been run")
    add("--folder", type=Path, default=_FOLDER, help="for results (build/report)")
    add("--page", type=Path, help="the page to write (docs/report.md)")
    arguments = parser.parse_args()
    if arguments.page is None:
        quick = arguments.folder / "quick.md"
        arguments.page = quick if arguments.quick else _ROOT / "docs" / "report.md"
    return arguments


def main() -> int:
    arguments = parse_arguments()
    kind = "quick" if arguments.quick else "whole"
    folder = arguments.folder / kind
    folder.mkdir(parents=True, exist_ok=True)
    files = {part.name: folder / f"{part.name}.json" for part in PARTS}
    for part in chosen(arguments.only):
        file = files[part.name]
        if arguments.resume and "result" in _read(file):
            continue
        print(f"report: {part.title}", file=sys.stderr, flush=True)
        run = run_part(part, arguments.quick)
        file.write_text(json.dumps(run))
        if "reason" in run:
            print(f"report: {run['reason']}", file=sys.stderr, flush=True)
    stored = {name: _read(file) for name, file in files.items() if file.exists()}
    arguments.page.parent.mkdir(parents=True, exist_ok=True)
    arguments.page.write_text(page(PARTS, stored, arguments.quick))
    figures = {name: run.get("seconds", 0.0) for name, run in stored.items()}
    setup = {"quick": arguments.quick, "page": str(arguments.page)}
    print(json.dumps({"benchmark": "report", "figures": figures, "setup": setup}))
    # Parts that were not run, since their data is absent, have no status.
    return 1 if any(run.get("status") for run in stored.values()) else 0


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.exists() else {}


if __name__ == "__main__":
    sys.exit(main())
