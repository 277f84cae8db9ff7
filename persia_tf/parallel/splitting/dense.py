"""Divides `keras.layers.Dense`.

By columns, each member computes some of the outputs for the examples of all members:
it gathers their inputs, and sends each member its outputs. By rows, each member
computes its inputs' share in all outputs: members exchange inputs, and add up outputs.
With g members, b examples each, m inputs and n outputs, a member receives per step, in
both directions together:

- by columns: (g - 1) * b * (m + n / g) numbers forward, and as many backward;
- by rows: (g - 1) * b * (m / g + n) numbers forward, and as many backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.splitting.activations import is_elementwise
from persia_tf.parallel.splitting.plain import is_plain
from persia_tf.parallel.splitting.splittable import Splittable, register


class DivideDense(Splittable):
    """Divides the outputs of the layer, or its inputs."""

    def axes(self, layer: Any) -> Sequence[str]:
        return ["columns", "rows"] if is_plain(layer) else []

    def divided_weights(self, layer: Any, axis: str) -> Sequence[tuple[Any, int]]:
        if axis == "rows":
            return [(layer.kernel, 0)]
        return [(layer.kernel, 1)] + ([(layer.bias, 0)] if layer.use_bias else [])

    def call(
        self, layer: Any, axis: str, exchange: Exchange, *args: Any, **kwargs: Any
    ) -> Any:
        x = tf.convert_to_tensor(args[0] if args else kwargs["inputs"])
        x = tf.cast(x, layer.compute_dtype)
        if axis == "rows":
            partial = _product(exchange.to_columns(x), layer.kernel)
            outputs = _biased(exchange.sum_rows(partial), layer)
            return _activated(outputs, layer)
        outputs = _biased(_product(exchange.gather(x), layer.kernel), layer)
        if is_elementwise(layer.activation):
            return exchange.to_rows(_activated(outputs, layer))
        return _activated(exchange.to_rows(outputs), layer)


def _product(x: tf.Tensor, kernel: Any) -> tf.Tensor:
    kernel = tf.convert_to_tensor(kernel)
    if x.shape.rank == 2:
        return tf.matmul(x, kernel)
    return tf.tensordot(x, kernel, 1)


def _biased(x: tf.Tensor, layer: Any) -> tf.Tensor:
    return x + tf.convert_to_tensor(layer.bias) if layer.use_bias else x


def _activated(x: tf.Tensor, layer: Any) -> tf.Tensor:
    return x if layer.activation is None else layer.activation(x)


register(keras.layers.Dense, DivideDense())
