"""Weights of which one member of a group has the whole."""

from __future__ import annotations

from typing import NamedTuple


class OwnedBy(NamedTuple):
    """Stands for the axis of a weight that one member has in whole, and others not.

    Attributes:
        place: Chooses the member. Weights of places that follow each other belong to
            members that follow each other, again from the first after the last.
    """

    place: int

    def rank(self, size: int) -> int:
        """Returns the rank of the member among `size` members."""
        return self.place % size
