"""String ids: hashed to rows, dense, ragged and padded."""

import numpy as np
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

NAMES = ["ann", "bob", "", "Ann", "zoë", "ann"]


def trained_rows(layer, ids):
    return np.array(layer(tf.constant(ids), training=True))


def test_equal_strings_share_a_row_and_others_do_not(table):
    layer = ptf.layers.PersiaEmbedding(8, table=table)
    rows = trained_rows(layer, NAMES)
    np.testing.assert_array_equal(rows[0], rows[5])
    assert len({row.tobytes() for row in rows}) == 5


def test_a_string_is_the_same_id_in_every_program(table):
    layer = ptf.layers.PersiaEmbedding(2, table=table)
    trained_rows(layer, NAMES)
    ids = np.concatenate([page.ids for page in ptf.Table(table).export()])
    # These ids must never change: later versions find the rows by them.
    assert sorted(ids.tolist()) == [
        997402615728716914,
        1936946117179621458,
        4022974603056467823,
        7724264549523847550,
        8027067266591182711,
    ]


def test_shapes_are_those_of_the_strings(table):
    layer = ptf.layers.PersiaEmbedding(3, table=table)
    assert trained_rows(layer, [["a", "b"], ["c", "d"]]).shape == (2, 2, 3)
    ragged = layer(tf.ragged.constant([["a"], [], ["b", "c"]]), training=True)
    assert ragged.row_lengths().numpy().tolist() == [1, 0, 2]


def test_the_empty_string_is_padding(table):
    plain = ptf.layers.PersiaEmbedding(4, table=table)
    pooled = ptf.layers.PersiaEmbedding(4, table=table, combiner="mean", mask_zero=True)
    names = [["ann", "bob", ""], ["", "", ""]]
    rows = trained_rows(plain, ["ann", "bob"])
    expected = [rows.mean(axis=0), np.zeros(4)]
    np.testing.assert_allclose(trained_rows(pooled, names), expected, rtol=1e-6)


def test_a_mask_passes_on(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, mask_zero=True)
    mask = layer.compute_mask(tf.constant([["ann", ""]]))
    np.testing.assert_array_equal(mask, [[True, False]])
    inputs = keras.Input((2,), dtype="string")
    model = keras.Model(inputs, keras.layers.GRU(3)(layer(inputs)))
    padded = model.predict(tf.constant([["ann", ""]]), verbose=0)
    other = model.predict(tf.constant([["ann", ""], ["ann", "ann"]]), verbose=0)
    np.testing.assert_allclose(padded[0], other[0], atol=1e-6)
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    read = again.predict(tf.constant([["ann", ""]]), verbose=0)
    np.testing.assert_array_equal(read, padded)


def test_models_train_on_strings(table):
    inputs = keras.Input((1,), dtype="string")
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    model.compile("sgd", "mse")
    names = tf.constant([[name] for name in NAMES])
    data = tf.data.Dataset.from_tensor_slices((names, tf.ones((6, 1)))).batch(2)
    first = model.fit(ptf.data.prefetch(data, model), verbose=0)
    later = model.fit(ptf.data.prefetch(data, model), epochs=20, verbose=0)
    assert later.history["loss"][-1] < first.history["loss"][0] / 4
    assert ptf.Table(table).lookup([0]).any() == 0
