"""Shows, with Keras's progress bar, how many rows are done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Union

# Whether to show a bar; or a function to call instead, with (rows done, total rows).
Progress = Union[bool, Callable[[int, int], None]]


def shower(progress: Progress, title: str) -> Callable[[int, int], None] | None:
    """Returns a function that shows (rows done, total rows); None to show nothing."""
    if callable(progress):
        return progress
    return ProgressBar(title).show if progress else None


class ProgressBar:
    """Shows how many rows are done, and how many there are in total.

    Args:
        title: The line to print before the bar.
    """

    def __init__(self, title: str) -> None:
        # Imported late, so that commands which use this package start without Keras.
        from persia_tf._keras import keras

        print(title)
        self._bar = keras.utils.Progbar(None, unit_name="row")

    def show(self, rows: int, total: int) -> None:
        """Shows that `rows` of `total` are done; `total` may differ between calls."""
        self._bar.target = max(rows, total)
        self._bar.update(rows)
