"""The parts of a loaded SavedModel that are updated with the changes of shards."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from persia_tf.following import NOW
from persia_tf.serving.changed_tables import ChangedTables
from persia_tf.serving.exported_save import read_save
from persia_tf.serving.remote_copies import RemoteCopies
from persia_tf.serving.shard_reader import Sink
from persia_tf.serving.table_writer import TableWriter


class FollowedModel:
    """The tables of a standalone export, or a remote export's copies of hot rows.

    Tables have one writer at a time: a `FollowedModel` of a standalone export is the
    writer of its tables until it is closed.

    Args:
        model: An export of `ptf.serving.export`, loaded by `tf.saved_model.load`.

    Attributes:
        base_save: The `base_save` for `persia_tf.following.ShardFollower`: the number
            of a checkpoint whose rows are not newer than the export's rows, or `NOW`
            for a remote export.

    Raises:
        ValueError: if `model` is not such an export, or another `FollowedModel` writes
            to the tables of `model`.
    """

    def __init__(self, model: Any) -> None:
        self._model = model  # Keeps the model's tables alive.
        tables = getattr(model, "tables", None)
        if not tables:
            raise ValueError(
                "`model` must be loaded by tf.saved_model.load from an export of "
                f"ptf.serving.export, and must have tables. Received: model={model!r}"
            )
        self._changed: ChangedTables | None = None
        self._copies: RemoteCopies | None = None
        self._leave: Callable[[], object] = lambda: None
        self.base_save = NOW
        if all(hasattr(table, "write") for table in tables.values()):
            _written.add(model)
            # A finalizer runs only once: so a second `close` does not release tables
            # to which another `FollowedModel` may write by then.
            self._leave = weakref.finalize(self, _written.discard, model)
            self._changed = ChangedTables(
                {name: TableWriter(each) for name, each in tables.items()}
            )
            self.base_save = read_save(model)

    def close(self) -> None:
        """Releases the tables, so that another `FollowedModel` may write to them.

        The sinks of this object must not be used afterwards.
        """
        self._leave()

    def use_shards(self, shards: Sequence[str], servers: Sequence[str]) -> None:
        """Notes which shards there are; call it before `sink`, and when they change.

        Args:
            shards: The addresses of the shards.
            servers: The addresses with which the cluster was created
                (`Cluster.shards`): those of shards, or those of embedding workers in
                front of the shards.
        """
        if self._changed is not None:
            return
        if self._copies is None:
            self._copies = RemoteCopies(servers)
        self._copies.use_shards(shards)

    def sink(self) -> Sink:
        """Returns an object that applies the changes of one more shard."""
        if self._changed is not None:
            return self._changed.of_shard()
        return self._copies.of_shard()


class _WrittenModels:
    """The loaded models whose tables have a writer. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, model: Any) -> None:
        with self._lock:
            if model in self._models:
                raise ValueError(
                    "`model` is followed already: close that follower first, or load "
                    f"the SavedModel once more. Received: model={model!r}"
                )
            self._models.add(model)

    def discard(self, model: Any) -> None:
        with self._lock:
            self._models.discard(model)


_written = _WrittenModels()
