"""Shows the progress of a command on stderr."""

from __future__ import annotations

import sys
import time

# Seconds between updates of the line on a terminal, and between lines elsewhere.
_TERMINAL_SECONDS = 0.1
_LOG_SECONDS = 10.0


class Progress:
    """Shows how many rows are done, by updating one line of the terminal.

    If stderr is not a terminal, a new line is printed every ten seconds instead.

    Args:
        title: What the command does with the rows, such as "Saving".
        unit: What is counted.
    """

    def __init__(self, title: str, unit: str = "rows") -> None:
        self._title = title
        self._unit = unit
        self._is_terminal = sys.stderr.isatty()
        self._between = _TERMINAL_SECONDS if self._is_terminal else _LOG_SECONDS
        self._begin = self._told = time.monotonic()
        self._shows = False

    def show(self, rows: int, total: int) -> None:
        """Shows `rows` (or other units) of `total`.

        Does nothing if the last update was only a moment ago.
        """
        now = time.monotonic()
        if now - self._told < self._between:
            return
        self._told = now
        share = f"{min(1.0, rows / total):.0%}" if total else "0%"
        done = f"{rows:,} of about {total:,} {self._unit} ({share})"
        self._write(f"{self._title}: {done}")

    def end(self, text: str) -> None:
        """Prints the outcome, `text`, and the time that the command took."""
        if self._shows and self._is_terminal:
            sys.stderr.write("\r\x1b[K")
        seconds = time.monotonic() - self._begin
        print(f"{text} in {seconds:.1f} s", file=sys.stderr)

    def _write(self, line: str) -> None:
        self._shows = True
        # The escape sequence clears what remains of a longer previous line.
        sys.stderr.write(f"\r{line}\x1b[K" if self._is_terminal else f"{line}\n")
        sys.stderr.flush()
