"""The samples of a data set, in batches, from any position on."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

from persia_tf.data.reading.positions import Positions
from persia_tf.data.reading.runs import Run


class Samples(Positions):
    """Yields the samples of a data set."""

    @abc.abstractmethod
    def runs(self, start: Any) -> Iterator[Run | None]:
        """Yields the batches of an epoch, from a position on; None for a pause."""
