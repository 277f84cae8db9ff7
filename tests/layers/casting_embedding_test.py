"""The layer that takes ids of any number type."""

import json

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.layers import CastingPersiaEmbedding

LOAD = """
import json
import persia_tf.layers
from persia_tf._keras import keras
layer = keras.saving.deserialize_keras_object(json.loads({config!r}))
print(type(layer).__name__, layer.output_dim, layer.mask_zero)
"""


@pytest.fixture
def layer(table):
    made = CastingPersiaEmbedding(2, table=table)
    made.build()
    ptf.Table(table).assign([-3, 3, 2**24], [[-3, 0], [3, 0], [24, 0]])
    return made


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64"]
)
def test_numbers_of_any_type_are_ids(dtype, layer):
    ids = np.array([3, -3]).astype(dtype)
    np.testing.assert_array_equal(layer(ids), [[3, 0], [-3, 0]])
    np.testing.assert_array_equal(layer(tf.constant(ids)), [[3, 0], [-3, 0]])


def test_fractions_are_cut_off(layer):
    np.testing.assert_array_equal(layer(tf.constant([3.9, -3.9])), [[3, 0], [-3, 0]])


def test_mixed_precision_rounds_no_ids(layer, table):
    half = CastingPersiaEmbedding(2, table=table, dtype="mixed_float16")
    np.testing.assert_array_equal(half(tf.constant([float(2**24)])), [[24, 0]])


def test_symbolic_floats_get_the_shapes_of_vectors(layer):
    inputs = keras.Input((4,))
    assert tuple(layer(inputs).shape) == (None, 4, 2)


@pytest.mark.slow
def test_a_program_that_knows_the_layers_can_load_it(run_python, table):
    layer = CastingPersiaEmbedding(2, table=table, mask_zero=True)
    config = json.dumps(keras.saving.serialize_keras_object(layer))
    output = run_python(LOAD.format(config=config))
    assert output.split() == ["CastingPersiaEmbedding", "2", "True"]
