"""Measures what a step of a whole model costs on this worker."""

from __future__ import annotations

import itertools
from typing import Any

import tensorflow as tf

from persia_tf.ops.recording import recording
from persia_tf.parallel.divided_variable import stored
from persia_tf.parallel.gradients import inner_optimizer, keep_gradients
from persia_tf.parallel.planning.layer_calls import random_of
from persia_tf.parallel.planning.network import Curve
from persia_tf.parallel.planning.timing import Timing, first_elements

# The numbers of weights whose updates are timed: caches do not hold the larger ones.
_PROBES = (1 << 10, 1 << 18, 1 << 20, 1 << 22)


def forward_and_backward(
    model: Any, specs: Any, strategy: Any, timing: Timing
) -> tuple[float, float]:
    """Returns the seconds to compute a model, and those to compute its gradients.

    The inputs are random, and rows are zeros. Weights do not change.

    Args:
        model: A built Keras model.
        specs: The model's inputs, as a nest of `tf.TensorSpec`s.
        strategy: The strategy of the model.
        timing: Times functions.
    """
    inputs = tf.nest.map_structure(random_of, specs)
    forward, both = (
        timing.seconds(_step_of(model, strategy, backward), inputs)
        for backward in (False, True)
    )
    return forward, max(0.0, both - forward)


def _step_of(model: Any, strategy: Any, backward: bool) -> Any:
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

    return tf.function(run, autograph=False)


def update_curve(optimizer: Any, strategy: Any, timing: Timing) -> Curve:
    """Measures how long an optimizer takes to update float32 weights, by their bytes.

    Args:
        optimizer: A Keras optimizer; it does not change.
        strategy: The strategy of the model.
        timing: Times functions.
    """
    times = [
        timing.seconds(*_update_of(optimizer, strategy, count)) for count in _PROBES
    ]
    sizes = tuple(4 * count for count in _PROBES)
    return Curve(sizes, tuple(itertools.accumulate(times, max)))


def _update_of(optimizer: Any, strategy: Any, count: int) -> tuple[Any, tf.Tensor]:
    """Returns a function that updates a weight, and its argument."""
    optimizer = inner_optimizer(optimizer)
    with strategy.scope():
        twin = type(optimizer).from_config(optimizer.get_config())
        weights = tf.Variable(tf.zeros([count]))
        twin.build([weights])
    gradient = tf.ones([count])

    def update(gradient: tf.Tensor) -> None:
        twin.apply_gradients([(gradient, weights)])

    def run(gradient: tf.Tensor) -> None:
        strategy.run(update, args=(gradient,))

    # No other worker takes part: sums would wait for them.
    keep_gradients(twin)
    return tf.function(run, autograph=False), gradient
