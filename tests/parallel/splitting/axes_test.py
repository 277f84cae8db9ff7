"""Which layers can be divided, on which axes, and which weights are."""

from __future__ import annotations

import numpy as np
import pytest

import persia_tf.parallel.splitting  # noqa: F401
from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.layers import PersiaEmbedding
from persia_tf.layers.towers import Towers
from persia_tf.parallel.owned import OwnedBy
from persia_tf.parallel.splitting.splittable import splittable_of

layers = keras.layers


def axes(layer, *inputs):
    layer(*inputs)
    return list(splittable_of(layer).axes(layer))


def divided(layer, axis):
    weights = splittable_of(layer).divided_weights(layer, axis)
    return [(tuple(weight.shape), axis) for weight, axis in weights]


VECTORS = np.zeros((3, 8), "float32")
SEQUENCES = np.zeros((3, 4, 8), "float32")


def test_activity_is_that_of_the_members_own_examples():
    layer = layers.Dense(4, activity_regularizer="l2")
    assert axes(layer, VECTORS) == ["columns", "rows"]


def test_einsum_dense():
    layer = layers.EinsumDense("abc,cde->abde", (4, 6, 2), bias_axes="e")
    assert axes(layer, SEQUENCES) == ["columns", "columns:e", "rows"]
    assert divided(layer, "columns") == [((8, 6, 2), 1)]
    assert divided(layer, "columns:e") == [((8, 6, 2), 2), ((2,), 0)]
    assert divided(layer, "rows") == [((8, 6, 2), 0)]


def test_embedding():
    layer = layers.Embedding(6, 4)
    assert axes(layer, np.zeros((3,), "int32")) == ["columns", "rows"]
    assert divided(layer, "rows") == [((6, 4), 0)]
    assert divided(layer, "columns") == [((6, 4), 1)]


@pytest.mark.skipif(IS_KERAS_3, reason="only layers of tf_keras return sparse vectors")
def test_embedding_of_sparse_vectors():
    assert axes(layers.Embedding(6, 4, sparse=True), np.zeros((3, 1), "int32")) == []


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras has no LoRA")
@pytest.mark.parametrize("layer", [layers.Dense(4), layers.Embedding(8, 4)])
def test_lora(layer):
    layer(np.zeros((3, 8), "int32"))
    layer.enable_lora(2)
    assert axes(layer, np.zeros((3, 8), "int32")) == []


def test_attention():
    layer = layers.MultiHeadAttention(2, 4, value_dim=3)
    assert axes(layer, SEQUENCES, SEQUENCES) == ["heads"]
    assert divided(layer, "heads") == [
        ((8, 2, 4), 1),
        ((2, 4), 0),
        ((8, 2, 4), 1),
        ((2, 4), 0),
        ((8, 2, 3), 1),
        ((2, 3), 0),
        ((2, 3, 8), 0),
    ]


@pytest.mark.skipif(not IS_KERAS_3, reason="layers of tf_keras have no gate")
def test_attention_with_a_gate():
    try:
        layer = layers.MultiHeadAttention(2, 4, use_gate=True)
    except (TypeError, ValueError):
        pytest.skip("this version of Keras has no gate")
    assert axes(layer, SEQUENCES, SEQUENCES) == ["heads"]
    assert len(divided(layer, "heads")) == 9


class _OwnAttention(layers.MultiHeadAttention):
    pass


@pytest.mark.parametrize(
    "layer",
    [
        layers.MultiHeadAttention(2, 4, dropout=0.1),
        _OwnAttention(2, 4),
    ],
)
def test_attention_that_cannot_be_divided(layer):
    assert axes(layer, SEQUENCES, SEQUENCES) == []


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras has it for the outputs only")
def test_attention_with_losses_for_what_projections_return():
    layer = layers.MultiHeadAttention(2, 4, activity_regularizer="l2")
    assert axes(layer, SEQUENCES, SEQUENCES) == []


@pytest.mark.skipif(not IS_KERAS_3, reason="keras_rs needs Keras 3")
def test_cross_layers_of_keras_rs():
    keras_rs = pytest.importorskip("keras_rs")
    full = keras_rs.layers.FeatureCross()
    assert axes(full, VECTORS) == ["columns"]
    assert divided(full, "columns") == [((8, 8), 1), ((8,), 0)]
    low = keras_rs.layers.FeatureCross(2)
    assert axes(low, VECTORS) == ["columns"]
    assert divided(low, "columns") == [((8, 2), 0), ((2, 8), 1), ((8,), 0)]


class Cross(layers.Layer):
    """Stands for the one of TensorFlow Recommenders."""

    def build(self, shape):
        self._dense = layers.Dense(shape[-1])
        self._dense.build(shape)
        self.built = True

    def call(self, x0, x=None):
        return x0 * self._dense(x0 if x is None else x)


def test_classes_are_found_by_the_names_of_their_packages():
    class Derived(Cross):
        pass

    class Other(Cross):
        def call(self, x0, x=None):
            return x0

    assert splittable_of(Cross()) is None
    Cross.__module__ = "tensorflow_recommenders.layers.dcn"
    assert axes(Cross(), VECTORS) == axes(Derived(), VECTORS) == ["columns"]
    assert splittable_of(Other()) is None


def test_weights_of_a_tower_belong_to_one_member():
    layer = Towers([layers.Dense(2), layers.Dense(3, use_bias=False)])
    assert axes(layer, VECTORS) == ["towers"]
    assert divided(layer, "towers") == [
        ((8, 2), OwnedBy(0)),
        ((2,), OwnedBy(0)),
        ((8, 3), OwnedBy(1)),
    ]
    assert [OwnedBy(place).rank(2) for place in range(4)] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "layer",
    [
        layers.MultiHeadAttention(2, 4, kernel_regularizer="l2"),
        Towers([keras.Sequential([layers.Dense(4, kernel_regularizer="l2")])]),
    ],
)
def test_regularizers_within(layer):
    inputs = [SEQUENCES] * (1 if isinstance(layer, Towers) else 2)
    assert bool(axes(layer, *inputs)) == IS_KERAS_3


def _shared():
    one = layers.Dense(8)
    return [keras.Sequential([one]), keras.Sequential([one, layers.Dense(1)])]


@pytest.mark.parametrize(
    "towers",
    [
        [layers.BatchNormalization(), layers.Dense(8)],
        [layers.Dense(4, activity_regularizer="l2")],
        _shared(),
    ],
)
def test_towers_that_cannot_be_divided(towers):
    assert axes(Towers(towers), VECTORS) == []


def test_towers_with_rows_in_shards(start_shards):
    [shard] = start_shards(1)
    import persia_tf as ptf

    embedding = PersiaEmbedding(4, table="t", cluster=ptf.Cluster([shard.address]))
    assert axes(Towers([embedding]), np.zeros((3, 1), "int64")) == []


def test_towers_whose_shapes_are_unknown():
    layer = Towers([layers.Dense(4)])
    assert splittable_of(layer).axes(layer) == []
    assert axes(layer, keras.Input((None, 8))) == []
