"""Gradients that are applied late."""

import numpy as np
import pytest
import tensorflow as tf
from delayed_gradients import delayed

keras = tf.keras
GRADIENTS = [1.0, 2.0, 4.0, 8.0, 16.0]


def weights_after_each_step(delay):
    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    layer.build((None, 1))
    [weight] = layer.trainable_variables
    optimizer = delayed(keras.optimizers.SGD, delay)(1.0)

    @tf.function
    def step(gradient):
        optimizer.apply_gradients([(tf.reshape(gradient, (1, 1)), weight)])

    weights = []
    for gradient in GRADIENTS:
        step(tf.constant(gradient))
        weights.append(float(layer.get_weights()[0][0, 0]))
    return weights


@pytest.mark.parametrize("delay", [1, 3])
def test_each_gradient_is_applied_once_so_many_steps_late(delay):
    late = [0.0] * delay + GRADIENTS[: len(GRADIENTS) - delay]
    np.testing.assert_array_equal(weights_after_each_step(delay), -np.cumsum(late))


def test_a_zero_gradient_of_the_first_steps_does_not_move_adagrad():
    layer = keras.layers.Dense(1, kernel_initializer="ones")
    layer.build((None, 1))
    adagrad = delayed(keras.optimizers.Adagrad, 2)(initial_accumulator_value=1e-5)
    gradients = [tf.ones_like(weight) for weight in layer.get_weights()]
    for expected_to_move in (False, False, True):
        adagrad.apply_gradients(zip(gradients, layer.trainable_variables))
        assert (layer.get_weights()[0][0, 0] != 1) == expected_to_move
