"""The samples of a data set, in batches, from any position on."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

from persia_tf.data.reading.positions import Positions


class Samples(Positions):
    """Yields the samples of a data set."""

    @abc.abstractmethod
    def tables(self, start: Any) -> Iterator[tuple[Any, Any]]:
        """Yields the batches of an epoch, from a position on.

        Yields:
            A `pyarrow.Table`, and the position after it.
        """
