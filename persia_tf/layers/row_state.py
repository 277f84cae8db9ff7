"""A layer's rows in TensorFlow's own checkpoints."""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf
from absl import logging

from persia_tf.layers.call_stack import frames_of
from persia_tf.layers.row_saving import RowSaving
from persia_tf.saving.bytes_store import BytesStore, read_bytes

_SAVED_MODEL = re.compile(r"tensorflow\.python\.saved_model\.")


class RowState(tf.train.experimental.PythonState):
    """The part of a `tf.train.Checkpoint` that saves and restores a layer's rows.

    A SavedModel contains no rows: its lookups go to the shards, or to the rows in this
    process.

    Args:
        saving: The layer's `RowSaving`.
    """

    def __init__(self, saving: RowSaving) -> None:
        self._saving = saving

    def serialize(self) -> bytes:
        """Returns the rows as bytes on the chief; on other workers, only a header."""
        store = BytesStore()
        if any(frames_of(_SAVED_MODEL)):
            logging.warning(
                "layer '%s': the SavedModel does not contain the rows of table '%s', "
                "and asks for them where they are stored now. To write them into a "
                "SavedModel, use ptf.serving.export",
                *(self._saving.layer, self._saving.table.name),
            )
        else:
            self._saving.save(store)
        return store.to_bytes()

    def deserialize(self, string_value: bytes) -> None:
        """Replaces the table's rows by those of a checkpoint."""
        self._saving.load(read_bytes(string_value))

    def __deepcopy__(self, memo: Any) -> RowState:
        return RowState(self._saving)
