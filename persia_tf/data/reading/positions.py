"""What can be read from any position on."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any


class Positions(abc.ABC):
    """The positions of a data set, between its batches.

    A position is a named tuple of whole numbers, the first of which is `epoch`.
    """

    @property
    @abc.abstractmethod
    def length(self) -> int | None:
        """How many batches an epoch has; None if only reading all of it tells."""

    @property
    def is_shard(self) -> bool:
        """Whether other programs read the rest of the data."""
        return False

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

    def saved(self, position: Any) -> None:
        """Says that a checkpoint of a position is complete.

        Nothing before the position will be read again.
        """
        del position
