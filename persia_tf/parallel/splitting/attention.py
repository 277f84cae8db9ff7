"""Divides `keras.layers.MultiHeadAttention` by its heads.

Each member computes some heads for the examples of all members: it gathers their
inputs, and members add up what their heads contribute to the outputs. With g members, b
examples each, and m numbers of an example in the query, the value and the key together
(each different one counted once) and n in the output, a member receives per step, in
both directions together:

- (g - 1) * b * (m + n) numbers forward, and as many backward; and masks.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.splitting.attention_inputs import AttentionInputs
from persia_tf.parallel.splitting.einsum_dense import DivideEinsumDense, sum_of_parts
from persia_tf.parallel.splitting.plain import can_be_within
from persia_tf.parallel.splitting.replaced_call import replaced_call
from persia_tf.parallel.splitting.splittable import Splittable, register

_PROJECTED = ("_query_dense", "_key_dense", "_value_dense", "_gate_dense")


class _DivideAttention(Splittable):
    def axes(self, layer: Any) -> Sequence[str]:
        # A subclass may compute the attention of each head by weights of its own.
        if type(layer) is not keras.layers.MultiHeadAttention:
            return []
        # Members would drop other scores than one process does.
        if layer._dropout or not hasattr(layer, "_output_dense"):
            return []
        layers = [*_projections(layer), layer._output_dense]
        return ["heads"] if all(map(can_be_within, layers)) else []

    def divided_weights(self, layer: Any, axis: str) -> Sequence[tuple[Any, int]]:
        # In their equations, the heads are the first letter of both roles.
        dense = DivideEinsumDense()
        weights = [
            weight
            for each in _projections(layer)
            for weight in dense.divided_weights(each, "columns")
        ]
        return [*weights, *dense.divided_weights(layer._output_dense, "rows")]

    def call(
        self, layer: Any, axis: str, exchange: Exchange, *args: Any, **kwargs: Any
    ) -> Any:
        call = type(layer).call
        bound = inspect.signature(call).bind(layer, *args, **kwargs)
        inputs = AttentionInputs(layer, exchange, bound.arguments)

        def project(x: tf.Tensor, **options: Any) -> tf.Tensor:
            return sum_of_parts(layer._output_dense, exchange, x)

        with replaced_call(layer._output_dense, project):
            outputs = call(*bound.args, **bound.kwargs)
        inputs.clear_masks()
        output, *scores = outputs if isinstance(outputs, tuple) else [outputs]
        if getattr(output, "_keras_mask", None) is not None:
            output._keras_mask = inputs.query_mask
        heads_axis = -2 * len(layer._attention_axes) - 1
        scores = [exchange.to_rows(each, heads_axis) for each in scores]
        return (output, *scores) if scores else output


def _projections(layer: Any) -> list[Any]:
    layers = [getattr(layer, name, None) for name in _PROJECTED]
    return [each for each in layers if each is not None]


register(keras.layers.MultiHeadAttention, _DivideAttention())
