"""The session and the table that the ops of a layer use."""

from __future__ import annotations

import dataclasses

from persia_tf.ops.absent_rows import ZEROS, AbsentRows


@dataclasses.dataclass(frozen=True)
class Route:
    """The session and table that the ops of one layer use.

    Attributes:
        session: The session's name in this process.
        layer: A name that no other layer object of this process has.
        table: The table's full name.
        dim: Weights per row.
        absent: What lookups that train no rows return for ids without a row.
    """

    session: str
    layer: str
    table: str
    dim: int
    absent: AbsentRows = ZEROS
