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

    @property
    def is_stream(self) -> bool:
        """Whether there are pauses, in which `tables` yields a pair of Nones."""
        return False

    @property
    def is_endless(self) -> bool:
        """Whether an epoch has no last batch."""
        return False

    def saved(self, position: Any) -> None:
        """Says that a checkpoint of a position is complete.

        Nothing before the position will be read again.
        """
        del position

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
