"""Builds every fuzz target and runs it from its seeds, for a short or a long time.

    python tests/fuzz/run.py                     # some seconds each
    python tests/fuzz/run.py --runs 10000000     # that many inputs each
    python tests/fuzz/run.py --target server     # one of tests/fuzz/*_fuzz.cc

Inputs that reached new code are kept in build/fuzz/NAME/corpus, where the next run
begins. Inputs that broke something are in build/fuzz/NAME. To run such an input again:

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
sys.path.insert(0, str(_ROOT / "tools"))

import native_build  # noqa: E402

# The options of all targets. A target may have more, in a line "// libFuzzer: ..." of
# its source. Inputs are short, so none may take much memory, and least of all one
# block.
_OPTIONS = ("-max_len=4096", "-rss_limit_mb=1024", "-malloc_limit_mb=65")
_HANG_SECONDS = 20
# A small quarantine of freed memory stays in the processor's caches, and still covers
# many inputs. Stacks of allocations are short: running the crash again shows more.
_SANITIZER = "quarantine_size_mb=16:malloc_context_size=3"
_OWN_OPTIONS = re.compile(r"^// libFuzzer: (.*)$", re.MULTILINE)


def main() -> None:
    arguments = parse_arguments()
    folder = native_build.build("fuzz")
    programs = {
        source.stem.removesuffix("_fuzz"): folder / source.stem
        for source in _SOURCES.glob("*_fuzz.cc")
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
    """Runs one target; returns whether it found nothing."""
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
