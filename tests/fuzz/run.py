"""Builds every fuzz target and runs it from its seeds, for a while or for long.

    python tests/fuzz/run.py                     # some seconds a target
    python tests/fuzz/run.py --runs 10000000     # so many inputs a target
    python tests/fuzz/run.py --target server     # of one, see tests/fuzz/*_fuzz.cc

Inputs that reached something new are kept in build/fuzz/NAME/corpus, and are begun
from the next time; those that broke something in build/fuzz/NAME. To see one again:

    cd build/fuzz/NAME && ../../native-fuzz/NAME_fuzz crash-...
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_SOURCES = Path(__file__).resolve().parent
sys.path.insert(0, str(_ROOT / "cc"))

import ninja_build  # noqa: E402

# Of all targets; each may say more in a line "// libFuzzer: ..." of its source. No
# input is long enough to be worth much memory, least of all in one piece.
_OPTIONS = ("-max_len=4096", "-rss_limit_mb=1024", "-malloc_limit_mb=65")
_HANG_SECONDS = 20
# What is freed is watched for as long as many inputs take, and stays in the
# processor's caches. Of where memory came from, the crash seen again tells more.
_SANITIZER = "quarantine_size_mb=16:malloc_context_size=3"
_OWN_OPTIONS = re.compile(r"^// libFuzzer: (.*)$", re.MULTILINE)


def main() -> None:
    arguments = parse_arguments()
    programs = {
        program.name.removesuffix("_fuzz"): program
        for program in ninja_build.build_fuzzers()
    }
    wanted = arguments.target or sorted(programs)
    unknown = set(wanted) - set(programs)
    if unknown:
        raise SystemExit(f"there is no target {min(unknown)}: {sorted(programs)}")
    bound = [f"-max_total_time={arguments.seconds}"]
    if arguments.runs:
        bound = [f"-runs={arguments.runs}"]
    failed = [name for name in wanted if not run(name, programs[name], bound)]
    if failed:
        raise SystemExit(f"fuzzing found defects: {', '.join(failed)}")


def run(name: str, program: Path, bound: list[str]) -> bool:
    """Runs one target; whether it found nothing."""
    folder = _ROOT / "build/fuzz" / name
    corpus, seeds = folder / "corpus", folder / "seeds"
    for each in (corpus, seeds):
        each.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, f"--write-seeds={seeds}"], check=True)
    own = _OWN_OPTIONS.findall((_SOURCES / f"{name}_fuzz.cc").read_text())
    options = [*_OPTIONS, *" ".join(own).split(), f"-timeout={_HANG_SECONDS}", *bound]
    begin = time.monotonic()
    with (folder / "log").open("wb") as log:
        ended = subprocess.run(
            [program, *options, "-print_final_stats=1", corpus, seeds],
            stderr=log,
            cwd=folder,
            env={**os.environ, "ASAN_OPTIONS": _SANITIZER},
        )
    text = (folder / "log").read_text(errors="replace")
    executed = re.search(r"number_of_executed_units: (\d+)", text)
    covered = re.findall(r"cov: (\d+) ft: (\d+)", text)
    edges, features = covered[-1] if covered else "??"
    print(
        f"fuzz: {name}: {executed[1] if executed else '?'} inputs in "
        f"{time.monotonic() - begin:.0f} s, {edges} edges, {features} features, "
        + ("no defect" if ended.returncode == 0 else f"FAILED, see {folder}"),
        flush=True,
    )
    if ended.returncode:
        print(text[-6000:], file=sys.stderr)
    return ended.returncode == 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--runs", type=int, help="inputs a target, instead of seconds")
    add("--seconds", type=int, default=10, help="for each target (%(default)s)")
    add("--target", action="append", metavar="NAME", help="only this one; repeatable")
    return parser.parse_args()


if __name__ == "__main__":
    main()
