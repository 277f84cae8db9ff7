"""Keras's `EarlyStopping`, extended to restore the rows of tables too."""

from __future__ import annotations

from typing import Any

from persia_tf._keras import keras
from persia_tf.callbacks.rows_aside import RowsAside
from persia_tf.callbacks.stand_in import StandIn
from persia_tf.saving.contexts import do_rows_stay, rows_stay


class EarlyStopping(keras.callbacks.EarlyStopping):
    """A `keras.callbacks.EarlyStopping` whose best weights include the rows.

    With `restore_best_weights=True`, the model ends up in the state after its best
    epoch: its dense weights, and the rows of its tables with their optimizer state.
    Rows that were created after that epoch are removed. Keras's own callback restores
    only the dense weights, and leaves the rows as they were after the last epoch, so
    the two do not match. Everything else is as in Keras's callback.

    After each epoch that is the best so far, the rows are copied to temporary files on
    this machine (`$TMPDIR`; with several workers, on the chief's machine) while
    training waits. If a table is larger than `Cluster(archive_limit=...)`, and the
    cluster has a `checkpoint_root`, the shards instead write a checkpoint to the
    subfolder `best` of that root. The checkpoint is removed when `fit` ends. It
    contains all tables of the cluster, and restoring it restores all these tables,
    including those of other models.

    Under a strategy with several workers, pass the callback to `fit` on every worker.

    Example:

    ```python
    stopping = ptf.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
    model.fit(train, validation_data=valid, epochs=50, callbacks=[stopping])
    ```

    The arguments are those of Keras's callback. Within `ptf.rows_stay()`, `fit` does
    not restore rows, as with Keras's own callback.

    Raises:
        OSError: in `fit`, if the temporary files cannot be written.
        PersiaError: in `fit`, if a shard does not answer.
    """

    _rows: RowsAside | None = None
    _is_kept = False

    @property
    def model(self) -> Any:
        if self._model is None or self._rows is None:
            return self._model
        return _ModelWithRows(self._model, self)

    @model.setter
    def model(self, model: Any) -> None:  # tf_keras assigns `model`.
        self._model = model

    def on_train_begin(self, logs: Any = None) -> None:
        self._forget()  # Removes copies of rows that a failed `fit` left.
        super().on_train_begin(logs)
        if self.restore_best_weights and not do_rows_stay():
            self._rows = RowsAside(self._model)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._is_kept = False
        super().on_epoch_end(epoch, logs)

    def on_train_end(self, logs: Any = None) -> None:
        super().on_train_end(logs)
        self._forget()

    def _keep_rows(self) -> None:
        # Keras reads the weights of the first epoch twice: copy the rows only once.
        if not self._is_kept:
            self._rows.keep()
        self._is_kept = True

    def _forget(self) -> None:
        if self._rows is not None:
            self._rows.drop()
        self._rows = None


class _ModelWithRows(StandIn):
    """Wraps a model: reading its weights copies rows, setting weights restores rows."""

    def __init__(self, model: Any, callback: EarlyStopping) -> None:
        super().__init__(model)
        object.__setattr__(self, "_callback", callback)

    def get_weights(self) -> Any:
        self._callback._keep_rows()
        with rows_stay():
            return self._whole.get_weights()

    def set_weights(self, weights: Any) -> None:
        self._callback._rows.put_back()
        with rows_stay():
            self._whole.set_weights(weights)
