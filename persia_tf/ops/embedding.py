"""Lookup, staging and commit of embedding rows, as differentiable TensorFlow."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from persia_tf.ops import load, recording
from persia_tf.ops.absent_rows import ZEROS, AbsentRows
from persia_tf.ops.bags import NO_BAGS, Bags
from persia_tf.ops.gradients import custom_gradient
from persia_tf.ops.loss_scale import LossScale
from persia_tf.ops.placement import on_host
from persia_tf.ops.redirection import redirection


@dataclasses.dataclass(frozen=True)
class Route:
    """Where the ops of one layer go.

    Attributes:
        session: The session's name in this process.
        layer: A name that no other layer object of this process has.
        table: The table's full name.
        dim: Weights a row.
        absent: What ids without a row get where nothing is trained.
    """

    session: str
    layer: str
    table: str
    dim: int
    absent: AbsentRows = ZEROS


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
        ids: int64, any shape; duplicates are asked for once. With splits of bags,
            of rank 1. Where lookups are redirected, there must be no bags.
        anchor: The layer's anchor, read now: it puts the step's ops in order,
            and makes TensorFlow ask for gradients.
        route: Where to look.
        training: Whether the model is called for training.
        trainable: Whether, in training, absent rows are created and gradients may
            follow.
        replica: Which replica of the layer this is, in this process.
        loss_scale: Finds by what the loss is scaled, and takes it out of the
            gradients. None: they are staged as they come.
        bags: How the rows are pooled: here, or where they come from, whichever
            moves less.

    Returns:
        float32, `ids.shape + (route.dim,)`; with bags, `ids.shape[:-1] +
        (route.dim,)`, or `(bags, route.dim)` where they have splits.
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
        # The C API's shape inference cannot read `dim`.
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

    with on_host():  # Here, as TensorFlow adds ops of its own around such a function.
        found = looked_up(anchor)
    if loss_scale is None:
        return found
    rows, zero = found
    loss_scale.watch(zero)
    return rows


def commit(
    anchor: tf.Tensor, learning_rate: tf.Tensor, step: tf.Tensor, route: Route
) -> tf.Tensor:
    """Turns what the layer staged into an update, and passes `anchor` on.

    Args:
        anchor: The layer's anchor.
        learning_rate: Of this update: a float32 scalar.
        step: Which step of the model it is of, counted from 1; 0 where row optimizers
            need not know: an int64 scalar.
        route: Of the layer.

    Returns:
        `anchor`, once the push queue has room.
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
