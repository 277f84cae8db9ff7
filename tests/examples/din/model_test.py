"""The layer that pools a history for a candidate."""

import numpy as np
import tensorflow as tf
from din.model import InterestPooling


def test_films_that_are_masked_weigh_nothing():
    layer = InterestPooling()
    random = np.random.default_rng(0)
    candidate = tf.constant(random.normal(size=(2, 4)), tf.float32)
    history = tf.constant(random.normal(size=(2, 5, 4)), tf.float32)
    mask = tf.constant([[True, True, False, False, False]] * 2)
    np.testing.assert_allclose(
        layer([candidate, history], mask=[None, mask]),
        layer([candidate, history[:, :2]]),
        rtol=1e-5,
    )


def test_no_film_gives_zeros():
    layer = InterestPooling()
    pooled = layer([tf.ones((2, 4)), tf.ones((2, 3, 4))], mask=[None, tf.zeros((2, 3))])
    np.testing.assert_array_equal(pooled, np.zeros((2, 4)))


def test_a_weight_depends_on_the_candidate():
    layer = InterestPooling()
    history = tf.ones((2, 3, 4))
    one, other = layer([tf.constant([[1.0] * 4, [-3.0] * 4]), history])
    assert not np.allclose(one, other)
