"""The programs that `run.py` starts, which end when it does."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Optional

_FOLDER = pathlib.Path(__file__).absolute().parent


def parser(description: str) -> argparse.ArgumentParser:
    """Returns a parser of the options that all programs have."""
    found = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    found.add_argument("--brokers", default="localhost:9092", help="HOST:PORT,...")
    found.add_argument("--topic", default="clicks", help="the topic of the events")
    found.add_argument(
        "--end_with_input", action="store_true", help="end when standard input does"
    )
    return found


def parsed(
    parser: argparse.ArgumentParser, argv: Optional[Sequence[str]]
) -> argparse.Namespace:
    """Returns the options, and begins to heed `--end_with_input`."""
    options = parser.parse_args(argv)
    if options.end_with_input:
        threading.Thread(target=_end_with_input, daemon=True).start()
    return options


@contextlib.contextmanager
def running(
    program: str, *options: str, **environment: str
) -> Iterator[subprocess.Popen]:
    """Runs a program of this folder until the block ends, or this process does.

    Args:
        program: the name of its file.
        *options: its options.
        **environment: environment variables that it gets.

    Raises:
        RuntimeError: if the program ended before the block.
    """
    process = subprocess.Popen(
        [sys.executable, str(_FOLDER / program), "--end_with_input", *options],
        stdin=subprocess.PIPE,
        stdout=sys.stderr,  # The result has standard output for itself.
        env={**os.environ, **environment},
    )
    try:
        yield process
        if process.poll() is not None:
            raise RuntimeError(f"{program} has ended: see its log above")
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
