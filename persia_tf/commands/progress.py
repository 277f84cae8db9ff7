"""Shows progress on stderr."""

from __future__ import annotations

import sys
import time

# Seconds between updates: of the same line on a terminal, of new lines elsewhere.
_TERMINAL_SECONDS = 0.1
_LOG_SECONDS = 10.0


class Progress:
    """Shows how many rows are done, in a line of the terminal that it updates.

    If stderr is not a terminal, it prints a line every ten seconds.

    Args:
        title: What is done to the rows.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._is_terminal = sys.stderr.isatty()
        self._between = _TERMINAL_SECONDS if self._is_terminal else _LOG_SECONDS
        self._begin = self._told = time.monotonic()
        self._shows = False

    def show(self, rows: int, total: int) -> None:
        """Shows `rows` of `total`, unless it was updated just before."""
        now = time.monotonic()
        if now - self._told < self._between:
            return
        self._told = now
        share = f"{min(1.0, rows / total):.0%}" if total else "0%"
        self._write(f"{self._title}: {rows:,} of about {total:,} rows ({share})")

    def end(self, text: str) -> None:
        """Prints the outcome and the time that it took."""
        if self._shows and self._is_terminal:
            sys.stderr.write("\r\x1b[K")
        seconds = time.monotonic() - self._begin
        print(f"{text} in {seconds:.1f} s", file=sys.stderr)

    def _write(self, line: str) -> None:
        self._shows = True
        # The escape sequence clears the rest of a longer line before.
        sys.stderr.write(f"\r{line}\x1b[K" if self._is_terminal else f"{line}\n")
        sys.stderr.flush()
