"""What a divided embedding layer does with ids."""

import numpy as np
import pytest
import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.members import Members
from persia_tf.parallel.splitting.splittable import splittable_of


@pytest.fixture(params=["columns", "rows"])
def call(request):
    """Calls a layer of 6 vectors as the only member of a group does."""
    layer = keras.layers.Embedding(6, 4)
    layer.build((None,))

    def call(ids):
        exchange = Exchange(Members("alone", 1, None), "embedding", 2, 2)
        vectors = splittable_of(layer).call(layer, request.param, exchange, ids)
        return vectors, layer(ids)

    return call


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_vectors_are_those_of_ids(call, dtype):
    divided, whole = call(np.array([[5, 0, 1], [2, 2, 3]], dtype))
    np.testing.assert_array_equal(divided, whole)


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras knows no negative ids")
def test_negative_ids_are_counted_from_the_end(call):
    divided, whole = call(np.array([-1, 2], "int32"))
    np.testing.assert_array_equal(divided, whole)


def test_ids_that_are_too_large(call):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be less than 6"):
        call(np.array([0, 6], "int32"))


def test_ids_must_be_dense(call):
    with pytest.raises(TypeError, match="its ids must be a dense tensor"):
        call(tf.ragged.constant([[1], [2, 3]]))
