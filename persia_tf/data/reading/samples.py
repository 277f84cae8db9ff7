"""The samples of a data set, in batches, from any position on."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import Any


class Samples(abc.ABC):
    """Yields the samples of a data set.

    A position is a named tuple of whole numbers, the first of which is `epoch`.
    """

    @property
    @abc.abstractmethod
    def length(self) -> int | None:
        """How many batches an epoch has; None if only reading all of it tells."""

    @abc.abstractmethod
    def begin(self, epoch: int) -> Any:
        """Returns the position before the first batch of an epoch."""

    @abc.abstractmethod
    def position(self, values: Sequence[int]) -> Any:
        """Returns the position that has some values.

        Args:
            values: Those of a position; or an epoch and how many batches of it were
                read, if `length` is known.

        Raises:
            InvalidArgumentError: if the data has no such position.
        """

    @abc.abstractmethod
    def tables(self, start: Any) -> Iterator[tuple[Any, Any]]:
        """Yields the batches of an epoch, from a position on.

        Yields:
            A `pyarrow.Table`, and the position after it.
        """
