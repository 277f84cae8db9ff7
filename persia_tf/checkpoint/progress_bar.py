"""A progress bar of rows: Keras's own."""

from __future__ import annotations

from persia_tf._keras import keras


class ProgressBar:
    """Shows how many of some rows are done.

    Args:
        title: Printed before it.
    """

    def __init__(self, title: str) -> None:
        print(title)
        self._bar = keras.utils.Progbar(None, unit_name="row")

    def show(self, rows: int, total: int) -> None:
        """Shows `rows` of `total`; the total may change."""
        self._bar.target = max(rows, total)
        self._bar.update(rows)
