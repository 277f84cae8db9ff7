"""Answers lookups in place, so that a model trains without shards and without rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from persia_tf.ops.embedding import Lookup
from persia_tf.ops.gradients import custom_gradient
from persia_tf.ops.placement import on_host


def vectors_in_place(
    lookups: Sequence[Lookup], anchor: tf.Tensor, joins: bool
) -> list[tf.Tensor]:
    """Returns constant vectors, shaped as those that shards would send.

    A training step computes their gradient, as it does for rows, and drops it.

    Args:
        lookups: What the layers that share the anchor look up.
        anchor: The value of the anchor.
        joins: Whether the vectors of all lookups become one tensor, side by side.
    """

    @custom_gradient
    def looked_up(anchor: tf.Tensor) -> tuple[list[tf.Tensor], Any]:
        if joins:
            vectors = [_ones(lookups[0], sum(each.route.dim for each in lookups))]
        else:
            vectors = [_ones(each, each.route.dim) for each in lookups]

        def gradient(*upstream: tf.Tensor) -> tf.Tensor:
            with on_host():
                # Without this dependency, TensorFlow would leave the gradient out, as
                # it also may for a constant. The anchor's value has no meaning.
                needed = [tf.convert_to_tensor(each) for each in upstream]
                with tf.control_dependencies(needed):
                    return tf.identity(anchor)

        return vectors, gradient

    with on_host():
        return list(looked_up(anchor))


def _ones(lookup: Lookup, width: int) -> tf.Tensor:
    vectors = tf.ones(lookup.bags.dynamic_shape(lookup.ids, width))
    vectors.set_shape(lookup.bags.static_shape(lookup.ids, width))
    return vectors
