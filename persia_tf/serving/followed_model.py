"""What of a loaded SavedModel follows shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from persia_tf.following import NOW
from persia_tf.serving.changed_tables import ChangedTables
from persia_tf.serving.exported_save import read_save
from persia_tf.serving.remote_copies import RemoteCopies
from persia_tf.serving.shard_reader import Sink
from persia_tf.serving.table_writer import TableWriter


class FollowedModel:
    """The tables of a loaded export, or the copies of those that it asks shards for.

    Args:
        model: What `tf.saved_model.load` gave for an export of `ptf.serving.export`.

    Attributes:
        base_save: Which earlier rows it has, as `persia_tf.following.ShardFollower`
            takes it.

    Raises:
        ValueError: if it is no such export.
    """

    def __init__(self, model: Any) -> None:
        self._model = model  # Its tables live as long as it does.
        tables = getattr(model, "tables", None)
        if not tables:
            raise ValueError(
                "`model` must be what tf.saved_model.load gives for an export of "
                f"ptf.serving.export that has tables. Received: model={model!r}"
            )
        self._writers: dict[str, TableWriter] | None = None
        self.base_save = NOW
        if all(hasattr(table, "write") for table in tables.values()):
            self._writers = {name: TableWriter(each) for name, each in tables.items()}
            self.base_save = read_save(model)

    def sinks(self, shards: Sequence[str]) -> Sequence[Sink]:
        """Returns what the changes of each shard go to.

        Args:
            shards: Their addresses.
        """
        if self._writers is None:
            changed = RemoteCopies(shards)
        else:
            changed = ChangedTables(self._writers, len(shards))
        return [changed.of_shard(shard) for shard in range(len(shards))]
