"""How far something is, on stderr."""

from __future__ import annotations

import sys
import time

# A terminal's line is written anew, others follow each other.
_TERMINAL_SECONDS = 0.1
_LOG_SECONDS = 10.0


class Progress:
    """Tells how many of some rows are done, in one line of a terminal.

    Where stderr is no terminal it tells that every ten seconds, in a line each.

    Args:
        title: What is done to them.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._is_terminal = sys.stderr.isatty()
        self._between = _TERMINAL_SECONDS if self._is_terminal else _LOG_SECONDS
        self._begin = self._told = time.monotonic()
        self._shows = False

    def show(self, rows: int, total: int) -> None:
        """Tells of `rows` of `total`, unless it has just told."""
        now = time.monotonic()
        if now - self._told < self._between:
            return
        self._told = now
        share = f"{min(1.0, rows / total):.0%}" if total else "0%"
        self._write(f"{self._title}: {rows:,} of about {total:,} rows ({share})")

    def end(self, text: str) -> None:
        """Tells the outcome, and how long it took."""
        if self._shows and self._is_terminal:
            sys.stderr.write("\r\x1b[K")
        seconds = time.monotonic() - self._begin
        print(f"{text} in {seconds:.1f} s", file=sys.stderr)

    def _write(self, line: str) -> None:
        self._shows = True
        # The escape clears what a longer line has left.
        sys.stderr.write(f"\r{line}\x1b[K" if self._is_terminal else f"{line}\n")
        sys.stderr.flush()
