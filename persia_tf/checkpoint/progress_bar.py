"""A progress bar of rows: Keras's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Union

# Whether to show a bar, or what is told instead: how many rows of how many.
Progress = Union[bool, Callable[[int, int], None]]


def shower(progress: Progress, title: str) -> Callable[[int, int], None] | None:
    """Returns what is to be told, or None."""
    if callable(progress):
        return progress
    return ProgressBar(title).show if progress else None


class ProgressBar:
    """Shows how many of some rows are done.

    Args:
        title: Printed before it.
    """

    def __init__(self, title: str) -> None:
        # Commands use this package too, and start without Keras.
        from persia_tf._keras import keras

        print(title)
        self._bar = keras.utils.Progbar(None, unit_name="row")

    def show(self, rows: int, total: int) -> None:
        """Shows `rows` of `total`; the total may change."""
        self._bar.target = max(rows, total)
        self._bar.update(rows)
