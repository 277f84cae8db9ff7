"""The tables of a loaded SavedModel, as the changes of shards reach them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from persia_tf.serving.changed_tables import ChangedTables
from persia_tf.serving.remote_copies import RemoteCopies
from persia_tf.serving.shard_reader import Sink
from persia_tf.serving.table_writer import TableWriter


def sinks_of_saved_model(model: Any, shards: int) -> Sequence[Sink]:
    """Returns what the changes of each shard go to.

    Args:
        model: What `tf.saved_model.load` gave for an export.
        shards: How many shards are followed.

    Raises:
        ValueError: if it is no export of `ptf.serving.export`.
    """
    tables = getattr(model, "tables", None)
    if not tables:
        raise ValueError(
            "`model` must be what tf.saved_model.load gives for an export of "
            f"ptf.serving.export that has tables. Received: model={model!r}"
        )
    if all(hasattr(table, "write") for table in tables.values()):
        writers = {name: TableWriter(table) for name, table in tables.items()}
        changed = ChangedTables(writers, shards)
        return [changed.of_shard(shard) for shard in range(shards)]
    copies = RemoteCopies(shards)
    return [copies.of_shard(shard) for shard in range(shards)]
