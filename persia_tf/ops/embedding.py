"""Lookup, staging and commit of embedding rows, as differentiable TensorFlow."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from persia_tf.ops import load


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
    ids: tf.Tensor, anchor: tf.Tensor, route: Route, training: bool
) -> tf.Tensor:
    """Looks rows up; in training, their gradients are staged for `commit`.

    Args:
        ids: int64, any shape; duplicates are asked for once.
        anchor: The layer's anchor, read now: it puts the step's ops in order,
            and makes TensorFlow ask for gradients.
        route: Where to look.
        training: Whether absent rows are created and gradients may follow.

    Returns:
        float32, `ids.shape + (route.dim,)`.
    """

    @tf.custom_gradient
    def looked_up(anchor: tf.Tensor) -> tuple[tf.Tensor, Any]:
        rows, ticket = load.ops().persia_lookup(
            ids=ids,
            anchor=anchor,
            session=route.session,
            layer=route.layer,
            table=route.table,
            dim=route.dim,
            training=training,
        )
        # The C API's shape inference cannot read `dim`.
        rows.set_shape(ids.shape.concatenate(route.dim))
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
