"""What members exchange for each layer is what its module's docstring says."""

from __future__ import annotations

import pytest

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

layers = keras.layers

# Members of the group, examples of each, and the bytes of a number or an id.
G, B, SIZE = 2, 4, 4


def divisions(strategy, layer, *shapes, dtype="float32"):
    """The bytes by axis that a group of two workers exchanges for a layer."""
    with strategy.scope():
        inputs = [keras.Input(shape, dtype=dtype) for shape in shapes]
        outputs = layer(*map(_trained, inputs))
        flat = outputs if isinstance(outputs, list) else [outputs]
        model = keras.Model(inputs, [layers.Flatten()(each) for each in flat])
        model.compile("sgd")
    plan = ptf.parallel.plan(model, G * B, workers=G, group_size=G, bandwidth=1e9)
    [planned] = plan.layers
    return {axis: size / SIZE for axis, size in planned.divisions.items()}


def _trained(x):
    """What has weights, so that the layer after it sends gradients back."""
    is_float = "float" in str(x.dtype)
    return layers.LayerNormalization()(x) if is_float else x


def test_einsum_dense(strategy):
    layer = layers.EinsumDense("bei,eio->beo", (2, 6))
    m, n = 2 * 8, 2 * 6
    assert divisions(strategy, layer, (2, 8)) == {
        "columns": 2 * (G - 1) * B * (m + n / G),
        "rows": 2 * (G - 1) * B * (m / G + n),
        "experts": 2 * (G - 1) * B * (m + n) / G,
    }


def test_embedding(strategy):
    s, n = 3, 6
    assert divisions(strategy, layers.Embedding(10, n), (s,), dtype="int32") == {
        "columns": (G - 1) * B * (s + 2 * s * n / G),
        "rows": (G - 1) * B * (s + 2 * s * n),
    }


def test_attention(strategy):
    layer = layers.MultiHeadAttention(2, 3, output_shape=5, use_bias=False)
    m, n = 4 * 8 + 6 * 7, 4 * 5
    assert divisions(strategy, layer, (4, 8), (6, 7)) == {
        "heads": 2 * (G - 1) * B * (m + n)
    }


@pytest.mark.skipif(not IS_KERAS_3, reason="keras_rs needs Keras 3")
def test_cross_layers(strategy):
    keras_rs = pytest.importorskip("keras_rs")
    n, p = 8, 2
    full = keras_rs.layers.FeatureCross()
    assert divisions(strategy, full, (n,)) == {"columns": 2 * (G - 1) * B * (n + n / G)}
    low = keras_rs.layers.FeatureCross(p)
    assert divisions(strategy, low, (n,)) == {
        "columns": 2 * 2 * (G - 1) * B * (n / G + p)
    }


def test_towers(strategy):
    # The first member has the first and the last tower.
    def towers():
        return ptf.parallel.Towers([layers.Dense(size) for size in (3, 2, 4)])

    k, n = 8, 3 + 4
    assert divisions(strategy, towers(), (k,)) == {"towers": 2 * (G - 1) * B * (k + n)}


def test_towers_with_an_input_each(strategy):
    class Listed(layers.Layer):
        def __init__(self, towers):
            super().__init__()
            self.towers = towers

        def call(self, first, second):
            return self.towers([first, second])

    towers = ptf.parallel.Towers([layers.Dense(3), layers.Dense(2)])
    m, n = 8, 3
    assert divisions(strategy, Listed(towers), (6,), (8,)) == {
        "towers": 2 * (G - 1) * B * (m + n)
    }
