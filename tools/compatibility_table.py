"""Writes the table of docs/compatibility.md from runs of tests/compatibility.

    python tools/compatibility_table.py .venv-tf2.16 .venv-tf2.21  # Environments.

Each environment has a version of TensorFlow, and the same wheel of this library. If a
cell fails, or the binaries differ from those in the first environment, the program ends
and the page is not changed. `make compatibility` creates the environments first.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).absolute().parents[1]
_PAGE = _ROOT / "docs/compatibility.md"
_BEGIN, _END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
_RUN_SECONDS = 1800

PASSED, FAILED, IMPOSSIBLE = "yes", "failed", "no"


@dataclass(frozen=True)
class Cell:
    """The result of one test.

    Attributes:
        properties: The properties that the test recorded.
        outcome: `PASSED`, `FAILED`, or `IMPOSSIBLE` for an expected failure.
        reason: Why the test does not pass.
    """

    properties: Mapping[str, str]
    outcome: str
    reason: str = ""

    def starting(self, prefix: str) -> dict[str, str]:
        """Returns the properties with this prefix, by the rest of their names."""
        return {
            name[len(prefix) :]: value
            for name, value in self.properties.items()
            if name.startswith(prefix)
        }


def read_cells(report: str) -> list[Cell]:
    """Returns the cells of a JUnit report, as pytest writes it."""
    return [_cell(case) for case in ElementTree.fromstring(report).iter("testcase")]


def _cell(case: ElementTree.Element) -> Cell:
    properties = {p.get("name", ""): p.get("value", "") for p in case.iter("property")}
    expected = case.find("skipped")
    if expected is not None and expected.get("type") == "pytest.xfail":
        return Cell(properties, IMPOSSIBLE, expected.get("message", ""))
    wrong = [child for child in case if child.tag in ("failure", "error", "skipped")]
    if wrong:
        return Cell(properties, FAILED, wrong[0].get("message", ""))
    return Cell(properties, PASSED)


def check(cells: Sequence[Cell]) -> None:
    """Checks that no cell failed, and that all ran the same binaries as the first.

    Raises:
        ValueError: if a cell failed or ran other binaries (the message names the cell),
            or there are no cells.
    """
    if not cells:
        raise ValueError("no test of tests/compatibility ran")
    for cell in cells:
        if cell.outcome == FAILED:
            raise ValueError(f"{dict(cell.properties)} failed: {cell.reason}")
        if cell.starting("sha256 of ") != cells[0].starting("sha256 of "):
            raise ValueError(
                "all must run one build. Received: "
                f"{dict(cells[0].properties)} and {dict(cell.properties)}"
            )


def markdown(cells: Sequence[Cell]) -> str:
    """Returns tables of what works, of versions and of binaries."""
    methods = _unique(cell.properties["method"] for cell in cells)
    reasons = _unique(cell.reason for cell in cells if cell.reason)
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in cells:
        mark = f" ({reasons.index(cell.reason) + 1})" if cell.reason else ""
        rows.setdefault(_row(cell), {})[cell.properties["method"]] = cell.outcome + mark
    packages = _unique(name for cell in cells for name in cell.starting("version of "))
    versions = _unique(tuple(cell.starting("version of ").items()) for cell in cells)
    lines = [
        *_table(
            ["TensorFlow", "Keras", "strategy", *methods],
            [[*row, *map(of.get, methods)] for row, of in rows.items()],
        ),
        *(f"\n({number}) {reason}" for number, reason in enumerate(reasons, 1)),
        "\nWith:\n",
        *_table(packages, [[dict(each)[p] for p in packages] for each in versions]),
        "\nThe binaries of all cells:\n",
        *_table(
            ["file", "SHA-256"],
            [[f"`{n}`", f"`{d}`"] for n, d in cells[0].starting("sha256 of ").items()],
        ),
    ]
    return "\n".join(lines) + "\n"


def _row(cell: Cell) -> tuple[str, ...]:
    version = cell.properties["version of tensorflow"]
    keras = cell.properties["keras"]
    return version.rpartition(".")[0], keras, cell.properties["strategy"]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _unique(values: Iterable) -> list:
    return list(dict.fromkeys(values))


def run_cells(environment: Path, legacy_keras: bool) -> list[Cell]:
    """Runs the tests of all cells in a virtual environment."""
    variables = {**os.environ, "TF_USE_LEGACY_KERAS": str(int(legacy_keras))}
    # Otherwise these sources would take precedence over the installed package.
    variables.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [environment.absolute() / "bin/pytest", "-q", "tests/compatibility"]
        # Newer formats do not include the properties that tests record.
        command += ["-o", "junit_family=xunit1"]
        subprocess.run(
            [*command, f"--junitxml={report}"],
            cwd=_ROOT,
            env=variables,
            timeout=_RUN_SECONDS,
        )
        return read_cells(report.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environments", nargs="+", type=Path, metavar="ENVIRONMENT")
    parser.add_argument("--at-once", type=int, default=1, help="runs (%(default)s)")
    arguments = parser.parse_args()
    runs = itertools.product(arguments.environments, (False, True))
    with futures.ThreadPoolExecutor(arguments.at_once) as pool:
        cells = sum(pool.map(lambda run: run_cells(*run), runs), [])
    try:
        check(cells)
    except ValueError as error:
        sys.exit(f"compatibility_table: {error}")
    before, _, rest = _PAGE.read_text().partition(_BEGIN)
    _PAGE.write_text(before + _BEGIN + markdown(cells) + _END + rest.partition(_END)[2])
    print(f"{_PAGE}: {len(cells)} cells")


if __name__ == "__main__":
    main()
