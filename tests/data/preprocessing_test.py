"""The input pipeline computes ids, and nothing else of a model."""

import numpy as np
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

WORDS = ["a", "b", "c", "d"]


def weights_of(model):
    return [np.array(weight) for weight in model.get_weights()]


def consume(dataset):
    for _ in dataset:
        pass


def test_layers_with_a_state_keep_it(dataset, make_layer):
    inputs = keras.Input(shape=(3,), dtype="int64")
    hidden = keras.layers.Flatten()(make_layer()(inputs))
    hidden = keras.layers.BatchNormalization()(hidden)
    hidden = keras.layers.Dropout(0.5, seed=1)(hidden)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile("sgd", "mse")
    before = weights_of(model)
    states = [np.array(v) for v in model.variables]
    consume(ptf.data.prefetch(dataset, model))
    for now, then in zip(weights_of(model), before):
        np.testing.assert_array_equal(now, then)
    for now, then in zip(model.variables, states):
        np.testing.assert_array_equal(np.array(now), then)

    model.fit(ptf.data.prefetch(dataset, model), verbose=0)
    batch_mean = model.layers[3].moving_mean
    assert np.any(np.array(batch_mean) != 0)


def test_only_what_computes_ids_runs(dataset, make_layer):
    runs = {"before": 0, "behind": 0}

    def noting(place):
        def note(x):
            runs[place] += 1
            return x

        return lambda x: tf.ensure_shape(tf.py_function(note, [x], x.dtype), x.shape)

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = make_layer()
            self.head = keras.layers.Dense(1)

        def call(self, ids, training=None):
            ids = noting("before")(ids)
            vectors = noting("behind")(self.embedding(ids, training=training))
            return self.head(tf.reshape(vectors, [-1, 12]))

    consume(ptf.data.prefetch(dataset, Model()))
    assert runs == {"before": 10, "behind": 0}


def test_random_ops_behind_the_rows_draw_nothing(dataset, make_layer):
    """A dropout gives the same values whether the pipeline has run or not.

    (The pipeline was traced in both cases, as tf_keras then draws another seed.)
    """

    def train(consumes, suffix):
        keras.utils.set_random_seed(4)
        inputs = keras.Input(shape=(3,), dtype="int64")
        hidden = keras.layers.Flatten()(make_layer(suffix)(inputs))
        hidden = keras.layers.Dropout(0.5, seed=9)(hidden)
        model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
        model.compile("sgd", "mse")
        prefetched = ptf.data.prefetch(dataset, model)
        if consumes:
            consume(prefetched)
        ids, labels = next(iter(dataset))
        return [float(model.train_on_batch(ids, labels)) for _ in range(3)]

    assert train(True, "_a")[0] == train(False, "_b")[0]


def test_strings_are_looked_up_in_the_pipeline(make_layer, rows_of, count, one_ahead):
    words = np.array(WORDS * 10).reshape(-1, 2)
    data = (tf.constant(words), np.ones((20, 1), "float32"))
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(4)
    inputs = keras.Input(shape=(2,), dtype="string")
    ids = keras.layers.StringLookup(vocabulary=WORDS)(inputs)
    vectors = keras.layers.Flatten()(make_layer()(ids))
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    model.compile("sgd", "mse")
    passed = count()
    prefetched = ptf.data.prefetch(dataset, model)
    model.fit(prefetched, epochs=2, verbose=0, callbacks=[one_ahead(passed)])
    assert passed["prefetch_hits"] > 0
    assert rows_of()[0].tolist() == [1, 2, 3, 4]


def test_stock_ops_make_ids_in_the_pipeline(dataset, make_layer, count, one_ahead):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = make_layer()
            self.head = keras.layers.Dense(1)

        def call(self, ids, training=None):
            hashed = tf.strings.to_hash_bucket_fast(tf.strings.as_string(ids), 97)
            vectors = self.embedding(hashed, training=training)
            return self.head(tf.reshape(vectors, [-1, 12]))

    model = Model()
    model.compile("sgd", "mse")
    passed = count()
    prefetched = ptf.data.prefetch(dataset, model)
    model.fit(prefetched, epochs=2, verbose=0, callbacks=[one_ahead(passed)])
    assert passed["prefetch_hits"] > 0
