"""Divides `keras.layers.EinsumDense`.

The axes of the kernel have letters in the layer's equation, and each can be divided:

- "columns": a letter of the output that the input does not have, as by `Dense`;
- "rows": a letter of the input that is summed, as by `Dense`;
- "experts": a letter of the input, the kernel and the output, such as the "e" of
  "bei,eio->beo". Each member computes the outputs of some experts from their inputs
  alone.

If several letters have the same role, the first one of the kernel has its name, and the
others are added after a colon, such as "columns:d".

With g members, b examples each, m inputs and n outputs of an example, a member receives
per step, in both directions together:

- by columns: (g - 1) * b * (m + n / g) numbers forward, and as many backward;
- by rows: (g - 1) * b * (m / g + n) numbers forward, and as many backward;
- by experts: (g - 1) * b * (m + n) / g numbers forward, and as many backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.splitting.activations import is_elementwise
from persia_tf.parallel.splitting.einsum_equation import Equation, parse
from persia_tf.parallel.splitting.plain import is_plain
from persia_tf.parallel.splitting.splittable import Splittable, register

_ROLES = ("columns", "rows", "experts")


class DivideEinsumDense(Splittable):
    """Divides an axis of the kernel, and that of the bias if it has the same."""

    def axes(self, layer: Any) -> Sequence[str]:
        equation = parse(layer.equation)
        if equation is None or not is_plain(layer):
            return []
        return list(_named_letters(equation))

    def divided_weights(self, layer: Any, axis: str) -> Sequence[tuple[Any, int]]:
        equation = _equation(layer)
        letter = _named_letters(equation)[axis]
        weights = [(layer.kernel, equation.kernel.index(letter))]
        bias_axis = equation.bias_axis(letter, layer.bias_axes)
        return weights if bias_axis is None else [*weights, (layer.bias, bias_axis)]

    def call(
        self, layer: Any, axis: str, exchange: Exchange, *args: Any, **kwargs: Any
    ) -> Any:
        x = tf.convert_to_tensor(args[0] if args else kwargs["inputs"])
        x = tf.cast(x, layer.compute_dtype)
        equation = _equation(layer)
        letter = _named_letters(equation)[axis]
        if letter in equation.inputs:
            x = exchange.to_columns(x, equation.input_axis(letter))
        else:
            x = exchange.gather(x)
        if letter not in equation.outputs:
            return sum_of_parts(layer, exchange, x)
        outputs = _biased(_product(x, layer), layer)
        output_axis = equation.output_axis(letter)
        if is_elementwise(layer.activation):
            return exchange.to_rows(_activated(outputs, layer), output_axis)
        return _activated(exchange.to_rows(outputs, output_axis), layer)


def sum_of_parts(layer: Any, exchange: Exchange, x: tf.Tensor) -> tf.Tensor:
    """Computes a layer whose input is by columns, and whose output is by rows.

    Args:
        layer: An `EinsumDense` of whose kernel this member has some rows.
        exchange: Exchanges with the other members.
        x: The input's columns of these rows, for the examples of all members.

    Returns:
        The outputs for this member's examples.
    """
    # The bias is added to the sum, so once.
    return _activated(_biased(exchange.sum_rows(_product(x, layer)), layer), layer)


def _equation(layer: Any) -> Equation:
    equation = parse(layer.equation)
    assert equation is not None, layer.equation
    return equation


def _named_letters(equation: Equation) -> dict[str, str]:
    """Returns the letters that can be divided, by the names of their axes."""
    named = {}
    for role in _ROLES:
        for place, letter in enumerate(equation.letters(role)):
            named[f"{role}:{letter}" if place else role] = letter
    return named


def _product(x: tf.Tensor, layer: Any) -> tf.Tensor:
    return tf.einsum(layer.equation, x, tf.convert_to_tensor(layer.kernel))


def _biased(x: tf.Tensor, layer: Any) -> tf.Tensor:
    return x if layer.bias is None else x + tf.convert_to_tensor(layer.bias)


def _activated(x: tf.Tensor, layer: Any) -> tf.Tensor:
    return x if layer.activation is None else layer.activation(x)


register(keras.layers.EinsumDense, DivideEinsumDense())
