"""A layer called twice, and layers that share a table: gradients are summed.

With Adam, one update by the sum differs from two updates by its parts.
"""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

FIRST = tf.constant([1, 2, 3], tf.int64)
SECOND = tf.constant([3, 4, 3], tf.int64)
EVERY = tf.range(1, 5, dtype=tf.int64)


def make_layer(table, cluster):
    return ptf.layers.PersiaEmbedding(
        4,
        table=table,
        embeddings_initializer=keras.initializers.Constant(0.5),
        optimizer=ptf.optimizers.Adam(0.1),
        cluster=cluster,
    )


def train(forward, layers, cluster, in_graph):
    """Steps 5 times; returns the rows of EVERY."""
    for layer in layers:
        layer.build((None,))
    variables = [v for layer in layers for v in layer.trainable_variables]
    optimizer = keras.optimizers.SGD()
    optimizer.build(variables)

    def step():
        with tf.GradientTape() as tape:
            first, second = forward()
            loss = tf.reduce_sum(first**2) + tf.reduce_sum(tf.sin(second))
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables))

    run = tf.function(step) if in_graph else step
    for _ in range(5):
        run()
        cluster.flush()
    return np.array(layers[0](EVERY, training=False))


@pytest.fixture
def expected(table, cluster):
    """The rows after steps with one call for all ids."""
    layer = make_layer(table + "_expected", cluster)

    def forward():
        rows = layer(tf.concat([FIRST, SECOND], axis=0), training=True)
        return rows[:3], rows[3:]

    return train(forward, [layer], cluster, in_graph=False)


@pytest.mark.parametrize("in_graph", [False, True])
def test_layer_called_twice_gets_the_sum(in_graph, table, cluster, expected):
    layer = make_layer(table, cluster)

    def forward():
        return layer(FIRST, training=True), layer(SECOND, training=True)

    rows = train(forward, [layer], cluster, in_graph)
    np.testing.assert_allclose(rows, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("in_graph", [False, True])
def test_layers_that_share_a_table_get_the_sum(in_graph, table, cluster, expected):
    layers = [make_layer(table, cluster), make_layer(table, cluster)]

    def forward():
        return layers[0](FIRST, training=True), layers[1](SECOND, training=True)

    rows = train(forward, layers, cluster, in_graph)
    np.testing.assert_allclose(rows, expected, rtol=1e-6, atol=1e-6)


def test_layers_of_one_table_see_the_same_rows(table, cluster):
    first, second = make_layer(table, cluster), make_layer(table, cluster)
    created = np.array(first(EVERY, training=True))
    np.testing.assert_array_equal(second(EVERY, training=False), created)


def test_output_that_never_reaches_the_loss_closes_its_step(table, cluster):
    used, unused = make_layer(table, cluster), make_layer(table, cluster)
    unused.build((None,))

    def forward():
        unused(SECOND, training=True)
        rows = used(FIRST, training=True)
        return rows, rows

    rows = train(forward, [used], cluster, in_graph=True)
    assert not np.allclose(rows[:3], 0.5)
    np.testing.assert_array_equal(rows[3], np.full(4, 0.5))
