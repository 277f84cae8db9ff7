"""Where the processor time of a training step goes, by owner.

    python benchmarks/step_profile.py --write

Trains the click model (train_throughput.py) under `perf record`, which samples the
processor time of the program and of its shards once training is steady, and adds the
samples up by owner. `perf` is in Debian's package linux-perf; its software clock needs
no hardware counters. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import native_programs
from results_file import write_section

_HERE = Path(__file__).resolve().parent
# Longer than the program takes to start.
_DELAY_SECONDS = 20
_SIDES = {
    "26 layers": ("--embedding", "persia-remote", "--layers", "separate"),
    "one layer": ("--embedding", "persia-remote"),
    "one layer, embedded": ("--embedding", "persia-embedded"),
    "vectors ready": ("--embedding", "ready"),
    "without their gradient": ("--embedding", "none"),
}
_HEADING = """## Profile of a step

`benchmarks/step_profile.py --write`: shares of the processor time of a step of the
click model, in percent. Two shards are on the trainer's machine. `vectors ready` and
the last column are the dense part alone."""

_STORE = (
    r"SubShard|RowIndex|GroupPipeline|Table::|StepRow|ReadFloats|IdGroups|Finite"
    r"|RowSlab"
)

# The owner of a sample is that of the first rule that matches its process ("trainer",
# "shard", or both if ""), library and function. oneDNN compiles the dense layers'
# kernels as it runs.
_RULES = (
    ("dense kernels", "trainer", r"\[JIT\]|memfd", r""),
    ("copies: concat, split", "trainer", r"libc\.", r"memmove|memcpy"),
    ("TensorFlow's other kernels", "trainer", r"libtensorflow_cc", r""),
    ("TensorFlow's executor", "trainer", r"libtensorflow_framework|libc\.", r""),
    ("Python", "trainer", r"python|\.cpython|pywrap|_dtypes", r""),
    ("store", "", r"libpersia", _STORE),
    ("client: dedupe", "trainer", r"libpersia", r"Dedupe|GroupByShard"),
    ("client: spread, sum", "trainer", r"libpersia", r"Rows|Gradients|Pool"),
    ("client: the rest, ops", "trainer", r"persia", r""),
    ("kernel of the trainer", "trainer", r"kernel", r""),
    ("shards: wire, server", "shard", r"libpersia", r""),
    ("shards: kernel", "shard", r"kernel", r""),
    ("shards: the rest", "shard", r"", r""),
    ("the rest", "trainer", r"", r""),
)


class Sample(NamedTuple):
    """Processor time, in percent, of a function."""

    percent: float
    process: str
    library: str
    function: str


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=20, help="sampled (%(default)s)"
    )
    parser.add_argument("--write", action="store_true", help="write RESULTS.md")
    return parser.parse_args()


def profile(options: tuple[str, ...], seconds: float) -> list[Sample]:
    """Returns where the processor time of a steady training goes.

    Args:
        options: The command line of train_throughput.py.
        seconds: For how long to sample at least.
    """
    with tempfile.NamedTemporaryFile(suffix=".data") as data:
        windows = ["--windows", "2", "--seconds", str(seconds / 2 + _DELAY_SECONDS / 2)]
        program = [
            sys.executable,
            str(_HERE / "train_throughput.py"),
            *options,
            *windows,
        ]
        record = ["perf", "record", "--event", "cpu-clock", "--freq", "997"]
        delay = ["--delay", str(_DELAY_SECONDS * 1000), "--output", data.name, "--"]
        subprocess.run(
            [*record, *delay, *program], check=True, stdout=subprocess.DEVNULL
        )
        fields = ["--fields", "overhead,comm,dso,sym", "--field-separator", "|"]
        said = subprocess.run(
            ["perf", "report", "--stdio", *fields, "--input", data.name],
            check=True,
            capture_output=True,
            text=True,
        )
    return [sample for line in said.stdout.splitlines() if (sample := parsed(line))]


def parsed(line: str) -> Sample | None:
    """Returns the sample on a line of the report; None if there is none."""
    fields = [field.strip() for field in line.split("|")]
    if line.startswith("#") or len(fields) < 4 or not fields[0].endswith("%"):
        return None
    # The threads of a shard have the name of its command's file, main.py.
    process = "shard" if fields[1].startswith(("main.py", "persia")) else "trainer"
    return Sample(float(fields[0][:-1]), process, fields[2], fields[3])


def owner_of(sample: Sample) -> str:
    """Returns the owner of a sample."""
    return next(
        owner
        for owner, process, library, function in _RULES
        if process in ("", sample.process)
        and re.search(library, sample.library)
        and re.search(function, sample.function)
    )


def main() -> None:
    arguments = parse_arguments()
    shares: dict[str, Counter[str]] = {}
    for side, options in _SIDES.items():
        shares[side] = Counter()
        for sample in profile(options, arguments.seconds):
            shares[side][owner_of(sample)] += sample.percent
    owners = [owner for owner, *_ in _RULES if any(shares[s][owner] for s in shares)]
    table = ["| owner | " + " | ".join(shares) + " |", "|---" * (len(shares) + 1) + "|"]
    for owner in owners:
        cells = [f"{shares[side][owner]:.1f}" for side in shares]
        table.append(f"| {owner} | " + " | ".join(cells) + " |")
    setup = {"seconds": arguments.seconds, **native_programs.machine()}
    table += ["", f"Set-up: {setup['cpu']}, {setup['cores']} cores."]
    print("\n".join(table))
    if arguments.write:
        write_section("step_profile", _HEADING + "\n\n" + "\n".join(table))
    figures = {
        f"{side}: {owner}": shares[side][owner] for side in shares for owner in owners
    }
    print(json.dumps({"benchmark": "step_profile", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
