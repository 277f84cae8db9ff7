"""Measures what a step of a whole model costs on this worker."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.ops.recording import recording
from persia_tf.parallel.divided_variable import stored
from persia_tf.parallel.gradients import inner_optimizer, keep_gradients
from persia_tf.parallel.planning.layer_calls import random_of
from persia_tf.parallel.planning.timing import first_elements, median_seconds

_PROBED_WEIGHTS = 1 << 20


def forward_and_backward(model: Any, specs: Any, strategy: Any) -> tuple[float, float]:
    """Returns the seconds to compute a model, and those to compute its gradients.

    The inputs are random, and rows are zeros. Weights do not change.

    Args:
        model: A built Keras model.
        specs: The model's inputs, as a nest of `tf.TensorSpec`s.
        strategy: The strategy of the model.
    """
    inputs = tf.nest.map_structure(random_of, specs)
    forward = _seconds(model, inputs, strategy, backward=False)
    return forward, max(0.0, _seconds(model, inputs, strategy, True) - forward)


def _seconds(model: Any, inputs: Any, strategy: Any, backward: bool) -> float:
    def train_step(inputs: Any) -> Any:
        with recording(), tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            total = tf.add_n([tf.reduce_sum(each) for each in tf.nest.flatten(outputs)])
        if not backward:
            return total
        weights = [stored(each) for each in model.trainable_variables]
        return first_elements(tape.gradient(total, weights))

    def run(inputs: Any) -> Any:
        return strategy.run(train_step, args=(inputs,))

    return median_seconds(tf.function(run, autograph=False), inputs)


def update_seconds_per_byte(optimizer: Any, strategy: Any) -> float:
    """Measures how long an optimizer takes to update a byte of float32 weights.

    Args:
        optimizer: A Keras optimizer; it does not change.
        strategy: The strategy of the model.
    """
    optimizer = inner_optimizer(optimizer)
    with strategy.scope():
        twin = type(optimizer).from_config(optimizer.get_config())
        weights = tf.Variable(tf.zeros([_PROBED_WEIGHTS]))
        twin.build([weights])
    gradient = tf.ones([_PROBED_WEIGHTS])

    def update(gradient: tf.Tensor) -> None:
        twin.apply_gradients([(gradient, weights)])

    def run(gradient: tf.Tensor) -> None:
        strategy.run(update, args=(gradient,))

    # No other worker takes part: sums would wait for them.
    keep_gradients(twin)
    seconds = median_seconds(tf.function(run, autograph=False), gradient)
    return seconds / (4 * _PROBED_WEIGHTS)
