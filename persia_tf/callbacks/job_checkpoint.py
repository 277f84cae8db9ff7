"""A Keras callback that saves a whole training job at one step."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from absl import logging

from persia_tf import checkpoint, errors
from persia_tf.callbacks import fit_loop
from persia_tf.callbacks.job_state import (
    JobState,
    add_to_metrics,
    captured,
    put_back,
)
from persia_tf.callbacks.table_checkpoint import TableCheckpoint
from persia_tf.layers.workers import Workers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from persia_tf.checkpoint.saving import SaveOptions
    from persia_tf.cluster import Cluster


class JobCheckpoint(TableCheckpoint):
    """Saves a training job as one checkpoint, from which it goes on at the next sample.

    A checkpoint has, of the same step: the rows with their optimizer's state, in the
    files of `ptf.checkpoint.save`; the dense weights, the optimizer, the metrics, the
    random states of layers, NumPy and Python, the number of the epoch, and the position
    in the data. Training waits until its updates are applied and the shards have frozen
    their rows; all is written in the background.

    A job that is killed at any moment and started again trains each sample once, and
    with a staleness of 0 ends with the same weights and rows, to the bit. A job has one
    worker.

    Example:

    ```python
    train = ptf.data.parquet("clicks/*.parquet", 4096, label="clicked",
                             shuffle_buffer=1_000_000)
    job = ptf.callbacks.JobCheckpoint("run1", data=train, save_freq=1000)
    job.restore(model)  # The first time, there is nothing to restore.
    model.fit(ptf.data.prefetch(train, model, staleness=0),
              epochs=2, initial_epoch=job.epoch, callbacks=[job])
    ```

    Args:
        path: The folder for this job's checkpoints, as for `ptf.checkpoint.save`.
        data: The dataset of a reader of `ptf.data`, before any `map` or other stage,
            each batch of which is one step of `fit`. Defaults to None: a job that is
            restored reads its data from the beginning of the epoch.
        save_freq: As for `TableCheckpoint`. Defaults to `"epoch"`.
        cluster: As for `TableCheckpoint`.
        whole_every: As for `TableCheckpoint`. Defaults to `1`.
        **options: As for `TableCheckpoint`.

    Attributes:
        epoch: The epoch that the job is in: the `initial_epoch` of `fit`.
        last_saved: The folder of the last complete checkpoint, or None.

    Raises:
        TypeError: if `data` is not the dataset of a reader, and as `TableCheckpoint`.
        ValueError: as `TableCheckpoint`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        data: Any = None,
        save_freq: str | int = "epoch",
        cluster: Cluster | None = None,
        whole_every: int = 1,
        **options: Unpack[SaveOptions],
    ) -> None:
        super().__init__(
            path,
            save_freq=save_freq,
            cluster=cluster,
            whole_every=whole_every,
            **options,
        )
        self.epoch = 0
        self._source = getattr(data, "persia_source", None)
        if data is not None and self._source is None:
            raise TypeError(
                "`data` must be the dataset that a reader of `ptf.data` returned, "
                "such as `ptf.data.parquet`, before any `map` or other stage. "
                f"Received: data={data!r}"
            )
        self._restored: JobState | None = None
        self._has_checkpoint = False
        self._batch = 0  # How many batches of the epoch were trained.
        self._length = self._source.length if self._source is not None else None
        self._is_rest = False  # Whether this `fit` trains the rest of an epoch.
        self._saving: Any = None  # The position that the running save has.

    def restore(self, model: Any) -> str | None:
        """Restores the newest checkpoint: call it before `fit`.

        Args:
            model: The built and compiled model.

        Returns:
            The checkpoint's folder, or None if there is none yet.

        Raises:
            InvalidArgumentError: if the checkpoint is that of another model.
            NotFoundError: if the checkpoint was not saved by a `JobCheckpoint`.
            PersiaError: for the reasons that `ptf.checkpoint.restore` documents.
        """
        try:
            folder = self._restore_rows()
        except errors.NotFoundError:
            return None
        contents = checkpoint.read_extra(folder, cluster=self._cluster)
        state = JobState.from_bytes(contents)
        put_back(model, state)
        self.epoch = state.facts["epoch"]
        self._batch = state.facts["batch"]
        self._restored = state if self._batch else None
        self._length = self._length or state.facts["length"]
        if self._source is not None and state.facts["position"] is not None:
            self._source.seek(state.facts["position"])
        self._has_checkpoint = True
        logging.info("the job goes on from %s, in epoch %d", folder, self.epoch)
        return folder

    def on_train_begin(self, logs: Any = None) -> None:
        super().on_train_begin(logs)
        if Workers.of(self.model).has_others:
            raise ValueError(
                "`JobCheckpoint` saves the job of one worker: with several, use "
                "`TableCheckpoint`. Received: a model that several workers train"
            )
        self._batches = 0
        if self._source is not None:
            self._source.begin()
        if not self._has_checkpoint:
            # A job that is killed before its first save begins with these rows again.
            self._save()
            self._join()
            if self._error is not None:
                raise self._error

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        super().on_epoch_begin(epoch, logs)
        self.epoch = epoch
        if self._length is not None and self._steps is None:
            fit_loop.set_length(self._length)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        restored, self._restored = self._restored, None
        if restored is not None:
            self._is_rest = True
            add_to_metrics(self.model, restored)
        self._batch += batch - self._last_batch
        super().on_train_batch_end(batch, logs)
        is_of_data = self._steps in (None, self._length)
        if self._is_rest and is_of_data and self._is_last_step():
            fit_loop.end_epoch()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._length is None and self._steps is None and self._is_last_step():
            self._length = self._batch
            fit_loop.set_length(self._length)
        self.epoch = epoch + 1
        self._batch = 0
        self._is_rest = False
        super().on_epoch_end(epoch, logs)
        if super()._is_due():
            self._save()

    @property
    def _steps(self) -> int | None:
        """The steps of an epoch, as far as Keras knew them when `fit` began.

        With `steps_per_epoch`, epochs of Keras are not those of the data.
        """
        return self.params.get("steps")

    def _is_due(self) -> bool:
        # After its last step, an epoch is saved once Keras has ended it.
        return super()._is_due() and not self._is_last_step()

    def _is_last_step(self) -> bool:
        return self._source is not None and self._source.ends_after(self._batches)

    def _extra(self, batches: int) -> bytes:
        self._has_checkpoint = True
        position = None
        if self._source is not None:
            self._saving = self._source.position_after(batches)
            position = list(self._saving)
        facts = {
            "epoch": self.epoch,
            "batch": self._batch,
            "length": self._length,
            "position": position,
        }
        return captured(self.model, facts).to_bytes()

    def _saved(self) -> None:
        if self._source is not None:
            self._source.saved(self._saving)
