"""Each public layer passes the checks that Keras makes of its own layers.

Keras's own functions check building, shapes of eager and symbolic calls, weights,
configs and their JSON, attributes, masks, a training step, and mixed precision. The
tests after them check what these functions leave out in one of the two Keras versions.
"""

import json

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

if IS_KERAS_3:
    from keras.src.testing import TestCase
else:
    from tf_keras.src.testing_infra import test_utils

DIM = 4
EVERY_SETTING = {
    "embeddings_initializer": keras.initializers.RandomNormal(stddev=0.5, seed=3),
    "optimizer": ptf.optimizers.Adam(0.5, amsgrad=True, clipnorm=1.0),
    "combiner": "sqrtn",
    "mask_zero": True,
    "capacity": "1MB",
    "admission": ptf.admission.Probability(0.5),
    "eviction": "lfu",
    "row_dtype": "bfloat16",
    "cluster": ptf.Cluster.embedded(namespace="checks", staleness=4),
    "trainable": False,
}
# By name: the layer's class, its arguments, and the number of id axes that it pools.
LAYERS = {
    "plain": (ptf.layers.PersiaEmbedding, {}, 0),
    "masked": (ptf.layers.PersiaEmbedding, {"mask_zero": True}, 0),
    "sum": (ptf.layers.PersiaEmbedding, {"combiner": "sum"}, 1),
    "masked mean": (
        ptf.layers.PersiaEmbedding,
        {"combiner": "mean", "mask_zero": True},
        1,
    ),
    "compressed": (
        ptf.layers.PersiaEmbedding,
        {"compression": ptf.compression.HashStack(100, hashes=2)},
        0,
    ),
    "every setting": (ptf.layers.PersiaEmbedding, EVERY_SETTING, 1),
    "casting": (ptf.layers.CastingPersiaEmbedding, {"mask_zero": True}, 0),
}


@pytest.fixture(params=LAYERS)
def case(request, table):
    """The class, its arguments, and the shape of the output for ids of shape (2, 3)."""
    cls, options, pooled_axes = LAYERS[request.param]
    shape = (2, 3)[: 2 - pooled_axes] + (DIM,)
    return cls, {"output_dim": DIM, "table": table, **options}, shape


@pytest.fixture
def layer(case):
    cls, options, _ = case
    return cls(**options)


IDS = np.array([[1, -2, 0], [2**40, 5, 0]])


@pytest.mark.skipif(not IS_KERAS_3, reason="these are checks of Keras 3")
@pytest.mark.parametrize("input_dtype", ["int32", "int64"])
def test_the_checks_of_keras_3(input_dtype, case):
    cls, options, shape = case
    TestCase().run_layer_test(
        cls,
        options,
        input_shape=(2, 3),
        input_dtype=input_dtype,
        expected_output_shape=shape,
        expected_output_dtype="float32",
        expected_num_trainable_weights=int(options.get("trainable", True)),
        expected_num_non_trainable_weights=int(not options.get("trainable", True)),
        expected_num_losses=0,
        supports_masking=options.get("mask_zero", False),
    )


@pytest.mark.skipif(IS_KERAS_3, reason="these are checks of tf_keras")
@pytest.mark.parametrize("input_dtype", ["int32", "int64"])
def test_the_checks_of_tf_keras(input_dtype, case):
    cls, options, shape = case
    ids = IDS % 2**30
    test_utils.layer_test(
        cls,
        options,
        input_data=ids.astype(input_dtype),
        expected_output_dtype="float32",
        expected_output_shape=(None, *shape[1:]),
        supports_masking=options.get("mask_zero", False),
    )


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_the_output_has_the_compute_dtype_of_the_policy(policy, case):
    cls, options, shape = case
    layer = cls(**options, dtype=policy)
    expected = keras.mixed_precision.Policy(policy).compute_dtype
    symbolic = layer(keras.Input((3,), batch_size=2, dtype="int64"))
    output = layer(tf.constant(IDS))
    for vectors in (symbolic, output):
        assert tf.as_dtype(vectors.dtype) == expected
        assert tuple(vectors.shape) == shape
    assert type(layer).from_config(layer.get_config()).compute_dtype == expected


def test_a_config_goes_through_json(layer):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    again = keras.saving.deserialize_keras_object(config)
    assert type(again) is type(layer)
    assert again.get_config() == layer.get_config()


def test_a_layer_made_from_its_config_has_the_same_attributes(layer):
    again = type(layer).from_config(layer.get_config())
    assert attributes(again) == attributes(layer)
    for each in (layer, again):
        each.build((2, 3))
    assert attributes(again) == attributes(layer)


def attributes(layer):
    # tf_keras records in the layer that its config was asked for.
    return set(vars(layer)) - {"_auto_config"}


def test_names_and_flags_are_kept(case):
    cls, options, _ = case
    options = {**options, "name": "named", "trainable": False}
    again = cls.from_config(cls(**options).get_config())
    assert (again.name, again.trainable) == ("named", False)


def test_building_makes_one_weight_without_parameters(layer):
    assert not layer.built
    layer.build((None, 3))
    assert layer.built
    assert [weight.shape for weight in layer.weights] == [(0,)]
    assert layer.count_params() == 0


def test_the_static_shape_is_that_of_the_output(case):
    cls, options, shape = case
    layer = cls(**options)
    assert tuple(layer.compute_output_shape((2, 3))) == shape
    assert tuple(layer.compute_output_shape((None, 3))) == (None, *shape[1:])
    assert tuple(layer(keras.Input((3,), dtype="int64")).shape) == (None, *shape[1:])


def test_inputs_may_be_given_by_keyword(layer):
    ids = tf.constant(IDS)
    np.testing.assert_array_equal(layer(inputs=ids, training=False), layer(ids))


def test_the_mask_is_where_ids_are_not_zero(case):
    cls, options, _ = case
    layer = cls(**options)
    mask = layer.compute_mask(tf.constant(IDS))
    if options.get("mask_zero") and not options.get("combiner"):
        np.testing.assert_array_equal(mask, IDS != 0)
    else:
        assert mask is None


def test_training_moves_every_row_but_masked_ones(case):
    cls, options, _ = case
    layer = cls(**{**options, "trainable": True, "admission": None})
    model = keras.Sequential([keras.Input((3,), dtype="int64"), layer])
    model.compile("sgd", "mse")
    targets = np.full(model(IDS).shape, 9.0)
    model.fit(IDS, targets, verbose=0)
    before = np.array(layer(IDS))
    model.fit(IDS, targets, verbose=0)
    moved = (np.array(layer(IDS)) > before).all(axis=-1)
    mask = layer.compute_mask(tf.constant(IDS))
    np.testing.assert_array_equal(moved, np.ones(moved.shape) if mask is None else mask)
