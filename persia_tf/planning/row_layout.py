"""How many bytes a row has, in a shard's memory and in a checkpoint."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from persia_tf.client import session as session_lib
from persia_tf.client.session import TableSettings
from persia_tf.cluster import Cluster
from persia_tf.table import Table

_numbers = itertools.count()

_WEIGHT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
_SCALE_BYTES = 4  # An int8 row has a scale of its own.
_USE_BYTES = 8  # When and how often a row was used, for tables that evict.


@dataclasses.dataclass(frozen=True)
class RowLayout:
    """The parts of a row, in bytes: see `cc/store/row_format.h`.

    Attributes:
        weights: The weights in the row dtype, padded to a multiple of 4.
        use: What eviction needs to know of the row; 0 without eviction.
        state: The optimizer's state, in float32.
    """

    weights: int
    use: int
    state: int

    @property
    def bytes(self) -> int:
        """The bytes of a row, without its share of the index."""
        return self.weights + self.use + self.state


@dataclasses.dataclass(frozen=True)
class StoredTable:
    """What a table costs before it has rows.

    Attributes:
        layout: The layout of its rows.
        empty_bytes: The memory of a table without rows, of one shard.
    """

    layout: RowLayout
    empty_bytes: int


def stored_table(settings: TableSettings) -> StoredTable:
    """Returns the layout of a table's rows, and what the table takes without rows.

    The number of floats of an optimizer's state is asked of the core: a table with
    these settings is made in a store of its own, gets a row, and is freed.

    Args:
        settings: The table's settings, with an optimizer.

    Raises:
        PersiaError: if the core refuses the settings.
    """
    weights = settings.dim * _WEIGHT_BYTES[settings.row_dtype]
    if settings.row_dtype == "int8":
        weights += _SCALE_BYTES
    evicts = settings.eviction != "never"
    store = f"ptf.plan {next(_numbers)}"
    cluster = Cluster.embedded()
    cluster._store = store
    # Every id is to get its row at once, and a filter may be large.
    probed = dataclasses.replace(settings, admission="always", capacity="unlimited")
    if settings.eviction in ("lru", "lfu"):
        probed = dataclasses.replace(probed, capacity="rows(count=1000)")
    try:
        cluster.create_table("probe", probed)
        (process,) = cluster.stats()
        (table,) = process.tables
        rows = Table("probe", cluster)
        rows.assign([1], np.zeros((1, settings.dim), np.float32))
        (page,) = rows.export()
    finally:
        session_lib.close_session(store)
    layout = RowLayout(
        weights=-(-weights // 4) * 4,
        use=_USE_BYTES if evicts else 0,
        state=4 * page.state.shape[1],
    )
    return StoredTable(layout, table.bytes)
