"""Keras's `EarlyStopping`, which takes back rows too."""

from __future__ import annotations

from typing import Any

from persia_tf._keras import keras
from persia_tf.callbacks.rows_aside import RowsAside
from persia_tf.callbacks.stand_in import StandIn
from persia_tf.saving.contexts import do_rows_stay, rows_stay


class EarlyStopping(keras.callbacks.EarlyStopping):
    """`keras.callbacks.EarlyStopping`, whose best weights include the rows.

    With `restore_best_weights=True` the model has in the end what it had after its best
    epoch: dense weights, and the rows of its tables with their optimizer state; rows
    that were made later are removed. Keras's own takes back the dense weights only,
    beside rows of the last epoch, which gives a model that never was. It is Keras's own
    otherwise.

    Each epoch that is the best so far has its rows copied to temporary files of this
    machine (`$TMPDIR`; of the chief's), while training waits. Where a table is larger
    than `Cluster(archive_limit=...)`, and the cluster has a `checkpoint_root`, its
    shards write a checkpoint there instead, in `best`, which is removed in the end. It
    has all tables of the cluster, and restores them all, also those of other models.

    Under a strategy of several workers, give it to every worker.

    Example:

    ```python
    stopping = ptf.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
    model.fit(train, validation_data=valid, epochs=50, callbacks=[stopping])
    ```

    It takes what Keras's takes. Within `ptf.rows_stay()`, `fit` leaves the rows as they
    are, as Keras's does.

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
    def model(self, model: Any) -> None:  # tf_keras's sets it.
        self._model = model

    def on_train_begin(self, logs: Any = None) -> None:
        self._forget()  # Of a `fit` that failed.
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
        # Keras asks for the weights of the first epoch twice.
        if not self._is_kept:
            self._rows.keep()
        self._is_kept = True

    def _forget(self) -> None:
        if self._rows is not None:
            self._rows.drop()
        self._rows = None


class _ModelWithRows(StandIn):
    """A model whose weights, to Keras's callback, are the rows too."""

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
