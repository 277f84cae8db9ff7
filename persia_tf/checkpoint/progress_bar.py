"""A progress bar that counts rows: Keras's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Union

# Whether to show a bar; or a function called instead with (rows done, rows in total).
Progress = Union[bool, Callable[[int, int], None]]


def shower(progress: Progress, title: str) -> Callable[[int, int], None] | None:
    """Returns the function to call with (rows done, rows in total), or None."""
    if callable(progress):
        return progress
    return ProgressBar(title).show if progress else None


class ProgressBar:
    """Shows how many rows are done, of how many.

    Args:
        title: Printed before the bar.
    """

    def __init__(self, title: str) -> None:
        # Imported late: commands that use this package start without Keras.
        from persia_tf._keras import keras

        print(title)
        self._bar = keras.utils.Progbar(None, unit_name="row")

    def show(self, rows: int, total: int) -> None:
        """Shows `rows` of `total`; the total may change."""
        self._bar.target = max(rows, total)
        self._bar.update(rows)
