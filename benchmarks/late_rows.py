"""Rows whose updates are applied exactly some steps late.

The library's own bound on staleness is an upper one: how many updates a batch's rows
really miss depends on how fast the shards answer. Here the rows are looked up with a
staleness of 0, and a queue in the model holds each step's gradients of rows back for a
fixed number of steps. So the delay is the same on every machine, and in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from delayed_gradients import GradientQueue

keras = tf.keras


class LateRows(keras.layers.Layer):
    """A `PersiaEmbedding` whose gradients are applied some steps late.

    In training, each step looks up the rows of its own ids, and those of the ids of
    `steps` steps ago. The gradients of its own rows go into a queue, and the gradients
    of `steps` steps ago come out of it and are pushed as the gradients of those ids. So
    the rows that step `t` uses lack the updates of exactly the steps `t - steps` to
    `t - 1`. The own ids are pushed with gradients of zero, which neither SGD nor
    Adagrad reacts to.

    The first steps have no earlier one, and push zeros for the id 0. That only creates
    its row.

    Args:
        rows: The `PersiaEmbedding`, whose cluster must have a staleness of 0.
        steps: The delay. With 0, the layer is the same as `rows`.
        batch: The number of examples of every training batch.
    """

    def __init__(self, rows: Any, steps: int, batch: int) -> None:
        super().__init__(name=f"late_{rows.name}")
        self.rows = rows
        self._steps = steps
        self._batch = batch

    def build(self, input_shape: Any) -> None:
        self.rows.build(input_shape)
        self.built = True
        if not self._steps:
            return
        ids = tf.TensorShape((self._batch, *input_shape[1:]))
        vectors = ids[:-1] if self.rows.combiner else ids
        with tf.init_scope():
            self._no_ids = tf.zeros(ids, tf.int64)
            self._no_gradients = tf.zeros((*vectors, self.rows.output_dim))
            self._ids = GradientQueue(self._steps, self._no_ids, tf.int64)
            self._gradients = GradientQueue(self._steps, self._no_gradients)
            self._step = tf.Variable(0, trainable=False)

    def call(self, ids: Any, training: bool | None = None) -> Any:
        if not (training and self._steps):
            return self.rows(ids, training=training)
        step = self._step.assign_add(1)
        late_ids = self._ids.exchange(ids, step)
        both = self.rows(tf.concat([late_ids, ids], 0), training=True)

        @tf.custom_gradient
        def of_own_ids(both: tf.Tensor) -> tuple[tf.Tensor, Callable]:
            def gradient(own: tf.Tensor) -> tf.Tensor:
                late = self._gradients.exchange(own, step)
                return tf.concat([late, tf.zeros_like(own)], 0)

            return both[self._batch :], gradient

        return of_own_ids(both)

    def drain(self) -> None:
        """Applies the updates that are still held, one step's after the other.

        This is what the library does before it evaluates a model: no update is lost.
        """
        if not self._steps:
            return
        # The anchor's optimizer: rows have an optimizer of their own.
        commits = keras.optimizers.SGD(0.0)
        commits.build(self.rows.trainable_variables)

        @tf.function
        def apply_all() -> None:
            for _ in tf.range(self._steps):
                self._apply_oldest(commits)

        apply_all()

    def _apply_oldest(self, commits: Any) -> None:
        step = self._step.assign_add(1)
        ids = self._ids.exchange(self._no_ids, step)
        late = self._gradients.exchange(self._no_gradients, step)
        with tf.GradientTape() as tape:
            # The gradient of this sum with respect to the rows is `late`.
            pushed = tf.reduce_sum(self.rows(ids, training=True) * late)
        anchors = self.rows.trainable_variables
        gradients = tape.gradient(pushed, anchors)
        commits.apply_gradients(zip(gradients, anchors))
