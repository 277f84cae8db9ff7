"""A Keras callback that saves a whole training job at one step."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from absl import logging

from persia_tf import checkpoint
from persia_tf.callbacks import fit_loop, states_of_workers
from persia_tf.callbacks.job_state import (
    JobState,
    add_to_metrics,
    captured,
    put_back,
)
from persia_tf.callbacks.place_in_data import PlaceInData
from persia_tf.callbacks.table_checkpoint import TableCheckpoint
from persia_tf.current_cluster import current_cluster
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
    with a staleness of 0 ends with the same weights and rows, to the bit.

    Under a strategy with several workers, all of them need the callback and call
    `restore`. A checkpoint has the rows with the updates of all workers, and what each
    of them has: its position, random states and metrics.

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
            each batch of which is one step of `fit`. With several workers, this
            worker's. Defaults to None: a job that is restored reads its data from the
            beginning of the epoch.
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
        self._place = PlaceInData(data)
        self._workers = Workers(None)
        self._contents = b""  # What to save with the rows.
        self._restored: JobState | None = None
        self._has_checkpoint = False
        self._is_rest = False  # Whether this `fit` trains the rest of an epoch.
        self._saving: Any = None  # The position that the running save has.

    @property
    def epoch(self) -> int:
        """The epoch that the job is in: the `initial_epoch` of `fit`."""
        return self._place.epoch

    def restore(self, model: Any) -> str | None:
        """Restores the newest checkpoint: call it before `fit`.

        Args:
            model: The built and compiled model.

        Returns:
            The checkpoint's folder, or None if there is none yet.

        Raises:
            InvalidArgumentError: if the checkpoint is that of another model, or from
                within an epoch of another number of workers.
            NotFoundError: if the checkpoint was not saved by a `JobCheckpoint`.
            FailedPreconditionError: if another worker failed.
            PersiaError: for the reasons that `ptf.checkpoint.restore` documents.
        """
        workers = Workers.of(model)
        workers.together(self._flush)
        folder = states_of_workers.restored_by_chief(workers, self._restore_rows)
        if folder is None:
            return None
        contents = checkpoint.read_extra(folder, cluster=self._cluster)
        whole = JobState.from_bytes(contents)
        state = states_of_workers.own_part(workers, whole)
        saved = states_of_workers.count_of(whole)
        if saved == workers.count:
            self._place.put_back(state.facts)
        else:
            self._place.put_back_from(saved, workers.count, state.facts)
        put_back(model, state)
        self._restored = state if self._place.batch else None
        self._has_checkpoint = True
        logging.info("the job goes on from %s, in epoch %d", folder, self.epoch)
        return folder

    def on_train_begin(self, logs: Any = None) -> None:
        super().on_train_begin(logs)
        self._workers = Workers.of(self.model)
        self._batches = 0
        if self._place.source is not None:
            self._place.source.begin()
        if not self._has_checkpoint:
            # A job that is killed before its first save begins with these rows again.
            self._save()
            self._end_saving()

    def on_train_end(self, logs: Any = None) -> None:
        self._end_saving()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        super().on_epoch_begin(epoch, logs)
        self._place.epoch = epoch
        if self._has_own_steps:
            self._place.batch %= self._steps
            fit_loop.set_steps(self._steps - self._place.batch)
        elif self._place.length is not None and self._steps is None:
            fit_loop.set_length(self._place.length)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        restored, self._restored = self._restored, None
        if restored is not None:
            self._is_rest = True
            add_to_metrics(self.model, restored)
        self._place.batch += batch - self._last_batch
        super().on_train_batch_end(batch, logs)
        if self._is_rest and not self._has_own_steps and self._is_last_step():
            fit_loop.end_epoch()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._place.length is None and self._steps is None and self._is_last_step():
            self._place.length = self._place.batch
            fit_loop.set_length(self._place.length)
        self._place.end_epoch(epoch, self._batches)
        self._is_rest = False
        super().on_epoch_end(epoch, logs)
        if super()._is_due():
            self._save()

    @property
    def _steps(self) -> Any:
        """The steps of an epoch, as far as Keras knew them when `fit` began."""
        return self.params.get("steps")

    @property
    def _has_own_steps(self) -> bool:
        """Whether `steps_per_epoch` makes epochs of Keras others than the data's."""
        has_data = self._place.source is not None
        return has_data and self._steps not in (None, self._place.length)

    def _is_due(self) -> bool:
        # After its last step, an epoch is saved once Keras has ended it.
        return super()._is_due() and not self._is_last_step()

    def _is_last_step(self) -> bool:
        if self._has_own_steps:
            return self._place.batch >= self._steps
        source = self._place.source
        return source is not None and source.ends_after(self._batches)

    def _save(self) -> None:
        self._has_checkpoint = True
        # No worker goes on before the shards have frozen the rows.
        if self._workers.has_others:
            self._workers.together(self._flush)
        own = captured(self.model, self._place.facts(self._batches))
        self._contents = states_of_workers.joined(self._workers, own).to_bytes()
        self._workers.together(super()._save)

    def _extra(self, batches: int) -> bytes:
        del batches
        contents, self._contents = self._contents, b""
        self._saving = self._place.position
        return contents

    def _end_saving(self) -> None:
        self._workers.together(super().on_train_end)

    def _flush(self) -> None:
        """Waits until the updates of this worker are applied."""
        cluster = self._cluster if self._cluster is not None else current_cluster()
        cluster.flush()

    def _saved(self) -> None:
        if self._place.source is not None:
            self._place.source.saved(self._saving)
