"""The initial rows that stock TensorFlow ops compute are the core's."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.ops.initial_rows import InitialRows
from persia_tf.table_settings import initializers

IDS = np.array([0, 1, -1, 7, 2**63 - 1, -(2**63), 10**15], np.int64)

INITIALIZERS = {
    "zeros": "zeros",
    "ones": "ones",
    "constant": keras.initializers.Constant(-2.5),
    "uniform": keras.initializers.RandomUniform(-0.3, 0.5, seed=3),
    "normal": keras.initializers.RandomNormal(0.1, 2.0, seed=2**40),
    "truncated_normal": keras.initializers.TruncatedNormal(seed=5),
    "glorot_uniform": "glorot_uniform",
}


@pytest.mark.parametrize("dim", [1, 5, 64])
@pytest.mark.parametrize("name", INITIALIZERS)
def test_they_equal_new_rows(table, name, dim):
    cluster = ptf.Cluster.embedded(namespace="job")
    layer = ptf.layers.PersiaEmbedding(
        *(dim,),
        table=table,
        cluster=cluster,
        embeddings_initializer=INITIALIZERS[name],
    )
    made = np.asarray(layer(tf.constant(IDS), training=True))
    initializer = initializers.described(layer.embeddings_initializer)
    rows = InitialRows(*initializer, cluster.full_name(table), dim)
    in_graph = tf.function(rows, input_signature=[tf.TensorSpec([None], tf.int64)])
    for computed in (rows(tf.constant(IDS)), in_graph(tf.constant(IDS))):
        assert computed.dtype == tf.float32
        np.testing.assert_allclose(computed, made, rtol=0, atol=1e-6)
    assert in_graph(tf.zeros([0], tf.int64)).shape == (0, dim)
