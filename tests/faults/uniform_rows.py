"""Rows that all have one value, so that a mix of two states of a table shows."""

from __future__ import annotations

import numpy as np

import persia_tf as ptf


class UniformRows:
    """Some rows of a table, which is made if it does not exist.

    Args:
        table: The table's name.
        cluster: Where it is.
        count: How many rows: of the ids from 0 on.
        dim: Weights per row.
    """

    def __init__(
        self, table: str, cluster: ptf.Cluster, count: int, dim: int = 4
    ) -> None:
        layer = ptf.layers.PersiaEmbedding(dim, table=table, cluster=cluster)
        layer.build()
        self.table = ptf.Table(table, cluster)
        self._ids = np.arange(count)
        self._shape = (count, dim)

    def set(self, number: float) -> None:
        """Sets all rows to a number, in one call."""
        self.table.assign(self._ids, np.full(self._shape, number, "float32"))

    def value(self) -> float:
        """Returns the number that all rows have."""
        found = np.unique(self.table.lookup(self._ids))
        assert len(found) == 1, f"a mix of {found}"
        return found[0]
