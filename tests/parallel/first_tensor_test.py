"""Which tensor of a call has the examples."""

import inspect

import numpy as np
import pytest
import tensorflow as tf

from persia_tf.parallel.first_tensor import first_tensor

X = tf.zeros([3, 2])
MASK = tf.ones([1, 2], tf.bool)


def call(query, attention_mask=None, training=None):
    """The `call` of a layer."""


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((X, MASK), {}),
        ((), {"attention_mask": MASK, "query": X}),
        (({"name": "x", "it": X},), {}),
        ((tf.constant(1.0), X), {"training": True}),
    ],
)
def test_the_first_in_the_order_of_the_signature(args, kwargs):
    assert first_tensor(inspect.signature(call), args, kwargs) is X


@pytest.mark.parametrize("x", [tf.TensorSpec([3, 2]), np.zeros([3, 2])])
def test_what_has_a_shape(x):
    assert first_tensor(inspect.signature(call), [x], {}) is x
