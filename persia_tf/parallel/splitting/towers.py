"""Divides `ptf.parallel.Towers`: each member has some of the towers.

A member gets the inputs of its towers from the other members, and sends each member the
outputs for its examples. All members send as many numbers as the one with the largest
inputs, or outputs, needs. With g members, b examples each, m numbers in the inputs of
the towers of one member and n in their outputs, a member receives per step, in both
directions together:

- with an input for each tower: (g - 1) * b * (m + n) numbers forward, and as many
  backward;
- with one input of k numbers for all towers: (g - 1) * b * (k + n) numbers forward, and
  as many backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from persia_tf.layers.persia_embedding import PersiaEmbedding
from persia_tf.layers.persia_embeddings import PersiaEmbeddings
from persia_tf.layers.towers import Towers
from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.owned import OwnedBy
from persia_tf.parallel.splitting.packing import Packing
from persia_tf.parallel.splitting.plain import can_be_within
from persia_tf.parallel.splitting.splittable import Splittable, register

# Their rows are in shards already.
_NEVER_DIVIDED = (PersiaEmbedding, PersiaEmbeddings)


class _DivideTowers(Splittable):
    def axes(self, layer: Any) -> Sequence[str]:
        weights = [id(weight) for tower in layer.towers for weight in tower.weights]
        has_shared_weights = len(set(weights)) < len(weights)
        # Statistics of a batch would be those of other examples.
        has_state = any(tower.non_trainable_weights for tower in layer.towers)
        if has_shared_weights or has_state or not _has_known_shapes(layer):
            return []
        can_divide = all(
            can_be_within(each) and not isinstance(each, _NEVER_DIVIDED)
            for each in layer._flatten_layers(include_self=False)
        )
        return ["towers"] if can_divide else []

    def divided_weights(self, layer: Any, axis: str) -> Sequence[tuple[Any, OwnedBy]]:
        return [
            (weight, OwnedBy(place))
            for place, tower in enumerate(layer.towers)
            for weight in tower.weights
        ]

    def call(
        self, layer: Any, axis: str, exchange: Exchange, *args: Any, **kwargs: Any
    ) -> Any:
        inputs = _own_inputs(layer, exchange, args[0] if args else kwargs["inputs"])
        outputs = {place: layer.towers[place](x) for place, x in inputs.items()}
        packing = Packing(layer.specs[1], exchange)
        packed = packing.packed(outputs)
        others = [
            tf.convert_to_tensor(weight)
            for place, tower in enumerate(layer.towers)
            if place not in outputs
            for weight in tower.weights
        ]
        return packing.to_rows(_depending_on(others, packed))


def _has_known_shapes(layer: Any) -> bool:
    if layer.specs is None:
        return False
    return all(
        spec.shape.is_fully_defined() and spec.dtype.is_numeric
        for specs in layer.specs
        for spec in specs
    )


def _own_inputs(layer: Any, exchange: Exchange, inputs: Any) -> dict[int, tf.Tensor]:
    """Returns the inputs of this member's towers, for the examples of all members."""
    own = range(exchange.rank, len(layer.towers), exchange.size)
    if not isinstance(inputs, (list, tuple)):
        gathered = exchange.gather(tf.convert_to_tensor(inputs))
        return {place: gathered for place in own}
    each = layer.inputs_of_each(inputs)
    return Packing(layer.specs[0], exchange).to_columns(each)


def _depending_on(empty: list[tf.Tensor], packed: list[tf.Tensor]) -> list[tf.Tensor]:
    """Makes empty gradients of the weights of other members' towers.

    Without gradients, Keras would warn that training does not change these weights.

    Args:
        empty: These weights, of shape `(0,)`.
        packed: What depends on them afterwards: tensors of rank 2.
    """
    if not empty:
        return packed
    first, *rest = packed
    nothing = tf.add_n([tf.cast(each, first.dtype) for each in empty])
    columns = tf.zeros([tf.shape(first)[0], 1], first.dtype) * nothing
    return [tf.concat([first, columns], axis=1), *rest]


register(Towers, _DivideTowers())
