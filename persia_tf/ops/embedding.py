"""Lookup, staging and commit of embedding rows, as differentiable TensorFlow."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from persia_tf.ops import load, recording


@dataclasses.dataclass(frozen=True)
class Route:
    """Where the ops of one layer go.

    Attributes:
        session: The session's name in this process.
        layer: A name that no other layer object of this process has.
        table: The table's full name.
        dim: Weights a row.
    """

    session: str
    layer: str
    table: str
    dim: int


def lookup(
    ids: tf.Tensor,
    anchor: tf.Tensor,
    route: Route,
    training: bool,
    trainable: bool = True,
    replica: int = 0,
) -> tf.Tensor:
    """Looks rows up; in training, their gradients are staged for `commit`.

    Args:
        ids: int64, any shape; duplicates are asked for once.
        anchor: The layer's anchor, read now: it puts the step's ops in order,
            and makes TensorFlow ask for gradients.
        route: Where to look.
        training: Whether the model is called for training.
        trainable: Whether, in training, absent rows are created and gradients may
            follow.
        replica: Which replica of the layer this is, in this process.

    Returns:
        float32, `ids.shape + (route.dim,)`.
    """
    recorder = recording.recorder()
    if recorder is not None:
        recorder.add(ids, route, trainable)
        return tf.zeros(tf.concat([tf.shape(ids), [route.dim]], axis=0))

    @tf.custom_gradient
    def looked_up(anchor: tf.Tensor) -> tuple[tf.Tensor, Any]:
        handle, ticket = load.ops().persia_issue(
            ids=ids,
            anchor=anchor,
            session=route.session,
            layer=route.layer,
            table=route.table,
            dim=route.dim,
            replica=replica,
            training=training and trainable,
            model_training=training,
        )
        rows = load.ops().persia_rows(lookup=handle, ids=ids, dim=route.dim)
        # The C API's shape inference cannot read `dim`.
        rows.set_shape(ids.shape.concatenate(route.dim))
        # Gradients need not depend on the rows: those of a sum do not. But an update
        # must not overtake the lookup that creates its rows.
        with tf.control_dependencies([rows]):
            ticket = tf.identity(ticket)
        ticket.set_shape(())

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return load.ops().persia_stage(
                ticket=ticket,
                gradients=tf.convert_to_tensor(upstream),
                anchor=anchor,
                session=route.session,
                layer=route.layer,
            )

        return rows, gradient

    return looked_up(anchor)


def commit(anchor: tf.Tensor, learning_rate: tf.Tensor, route: Route) -> tf.Tensor:
    """Turns what the layer staged into an update, and passes `anchor` on.

    Args:
        anchor: The layer's anchor.
        learning_rate: Of this update: a float32 scalar.
        route: Of the layer.

    Returns:
        `anchor`, once the push queue has room.
    """
    passed = load.ops().persia_commit(
        anchor=anchor,
        learning_rate=learning_rate,
        session=route.session,
        layer=route.layer,
    )
    passed.set_shape(anchor.shape)
    return passed
