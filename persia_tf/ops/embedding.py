"""Differentiable lookup of embedding rows; staging and commit of their gradients."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.ops import load, recording
from persia_tf.ops.bags import NO_BAGS, Bags
from persia_tf.ops.gradients import custom_gradient
from persia_tf.ops.loss_scale import LossScale
from persia_tf.ops.placement import on_host
from persia_tf.ops.redirection import redirection
from persia_tf.ops.route import Route


def lookup(
    ids: tf.Tensor,
    anchor: tf.Tensor,
    route: Route,
    training: bool,
    trainable: bool = True,
    replica: int = 0,
    loss_scale: LossScale | None = None,
    bags: Bags = NO_BAGS,
) -> tf.Tensor:
    """Looks rows up; in training, their gradients are staged for `commit`.

    Args:
        ids: int64, of any shape, or of rank 1 if the bags have splits. Duplicates are
            looked up once. If lookups are redirected, there must be no bags.
        anchor: The value of the layer's anchor: it orders the step's ops, and makes
            TensorFlow compute gradients.
        route: The session and table to use.
        training: Whether the model is called for training.
        trainable: Whether training creates absent rows and may push gradients.
        replica: The index of this replica of the layer within this process.
        loss_scale: Determines the loss scale and divides gradients by it. None:
            gradients are staged unchanged.
        bags: How rows are pooled. The server that sends the rows pools them if that
            transfers less, otherwise this process does.

    Returns:
        float32, `ids.shape + (route.dim,)`; with bags, `ids.shape[:-1] +
        (route.dim,)`, or `(bags, route.dim)` if the bags have splits.
    """
    recorder = recording.recorder()
    if recorder is not None:
        recorder.add(ids, bags, route, training, trainable)
        return tf.zeros(bags.dynamic_shape(ids, route.dim))

    answer = redirection()
    if answer is not None:
        return answer(route, ids)

    if not (training and trainable):
        loss_scale = None

    @custom_gradient
    def looked_up(anchor: tf.Tensor) -> tuple[Any, Any]:
        handle = load.ops().persia_issue(
            ids=ids,
            splits=bags.splits_input,
            anchor=anchor,
            session=route.session,
            layer=route.layer,
            table=route.table,
            combiner=bags.combiner,
            dim=route.dim,
            replica=replica,
            training=training and trainable,
            model_training=training,
            absent=route.absent.kind,
        )
        rows, ticket = load.ops().persia_rows(
            lookup=handle,
            like=bags.like(ids),
            dim=route.dim,
            pooled=bags.pool_last_axis,
        )
        # Set the static shape here: TensorFlow's C API for shape inference cannot read
        # the attribute `dim`.
        rows.set_shape(bags.static_shape(ids, route.dim))
        ticket.set_shape(())

        def stage(gradients: tf.Tensor) -> tf.Tensor:
            staged = load.ops().persia_stage(
                ticket=ticket,
                gradients=gradients,
                anchor=anchor,
                session=route.session,
                layer=route.layer,
            )
            staged.set_shape(anchor.shape)
            return staged

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            with on_host():
                return stage(tf.convert_to_tensor(upstream))

        def scaled_gradient(
            upstream: tf.Tensor, of_zero: tf.Tensor | None
        ) -> tf.Tensor:
            with on_host():
                gradients, overflow = loss_scale.unscale(
                    tf.convert_to_tensor(upstream), of_zero
                )
                return stage(gradients) + overflow

        if loss_scale is None:
            return rows, gradient
        return (rows, tf.zeros(())), scaled_gradient

    # The scope is outside of `looked_up`, to include the ops that TensorFlow adds
    # around a function with a custom gradient.
    with on_host():
        found = looked_up(anchor)
    if loss_scale is None:
        return found
    rows, zero = found
    loss_scale.watch(zero)
    return rows


def commit(
    anchor: tf.Tensor, learning_rate: tf.Tensor, step: tf.Tensor, route: Route
) -> tf.Tensor:
    """Turns the layer's staged gradients into an update, and returns `anchor`.

    Args:
        anchor: The layer's anchor.
        learning_rate: The learning rate of this update: a float32 scalar.
        step: The number of the model's step, from 1, or 0 if the row optimizer does not
            need it: an int64 scalar.
        route: The layer's route.

    Returns:
        `anchor`, as soon as the push queue has room for the update.
    """
    with on_host():
        passed = load.ops().persia_commit(
            anchor=anchor,
            learning_rate=learning_rate,
            step=step,
            session=route.session,
            layer=route.layer,
        )
    passed.set_shape(anchor.shape)
    return passed
