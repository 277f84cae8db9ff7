"""Exported Keras models answer as they do in the program that made them."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

COUNT = 32
WORDS = np.array(["", "a", "b", "unheard of"], object)


@pytest.fixture
def cluster(start_shards):
    return ptf.Cluster([shard.address for shard in start_shards(2)], timeout=20)


@pytest.fixture
def embedding(table, cluster):
    """Makes layers with rows far from zero, in tables that no other test uses."""

    def make(name, **options):
        return ptf.layers.PersiaEmbedding(
            *(4,),
            table=f"{table}_{name}",
            cluster=cluster,
            embeddings_initializer=keras.initializers.RandomNormal(seed=1),
            **options,
        )

    return make


def scores_of(inputs, *vectors):
    joined = keras.layers.Concatenate()(list(vectors))
    return keras.Model(inputs, keras.layers.Dense(1, name="score")(joined))


def train(model, *columns):
    labels = np.random.default_rng(1).random((COUNT, 1)).astype("float32")
    model.compile("sgd", "mse")
    inputs = columns if len(columns) > 1 else columns[0]
    batches = tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(16)
    model.fit(batches, shuffle=False, verbose=0)
    ptf.flush()


@pytest.mark.parametrize("mode", ["standalone", "remote"])
def test_ids_and_strings(embedding, folder, serve, mode):
    user = keras.Input((), dtype="int64", name="user")
    tags = keras.Input((3,), dtype="string", name="tags")
    model = scores_of(
        [user, tags],
        embedding("user")(user),
        embedding("tags", combiner="mean", mask_zero=True)(tags),
    )
    rng = np.random.default_rng(2)
    users = rng.integers(-(2**63), 2**63 - 1, COUNT)
    words = rng.choice(WORDS, (COUNT, 3))
    train(model, users, words)
    ptf.serving.export(model, folder / "1", mode=mode)
    expected = np.asarray(model([tf.constant(users), tf.constant(words)]))
    client = serve()
    encoded = np.array([word.encode() for word in words.ravel()], object)
    by_grpc = client.predict(user=users, tags=encoded.reshape(words.shape))["score"]
    np.testing.assert_allclose(by_grpc, expected, rtol=0, atol=1e-6)
    rows = [{"user": int(user), "tags": list(row)} for user, row in zip(users, words)]
    _, answer = client.post(":predict", {"instances": rows})
    np.testing.assert_allclose(answer["predictions"], expected, rtol=0, atol=1e-6)
    columns = {"user": users.tolist(), "tags": words.tolist()}
    _, answer = client.post(":predict", {"inputs": columns})
    np.testing.assert_allclose(answer["outputs"], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("mode", ["standalone", "remote"])
def test_a_vocabulary(embedding, folder, serve, mode):
    word = keras.Input((), dtype="string", name="word")
    index = keras.layers.StringLookup(vocabulary=["a", "b"])(word)
    model = keras.Model(word, keras.layers.Dense(1)(embedding("word")(index)))
    train(model, WORDS.repeat(8))
    ptf.serving.export(model, folder / "1", mode=mode)
    rows = [{"word": one} for one in WORDS]
    _, answer = serve().post(":predict", {"instances": rows})
    expected = np.asarray(model(tf.constant(WORDS)))
    np.testing.assert_allclose(answer["predictions"], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("mode", ["standalone", "remote"])
@pytest.mark.parametrize("absent", ["initial", "oov"])
def test_ids_without_a_row(embedding, folder, serve, mode, absent):
    user = keras.Input((), dtype="int64", name="user")
    layer = embedding("user", absent=absent, oov_rate=0.2)
    model = keras.Model(user, keras.layers.Dense(1)(layer(user)))
    train(model, np.arange(COUNT))
    ptf.serving.export(model, folder / "1", mode=mode)
    asked = np.arange(COUNT + 5)
    expected = np.asarray(model(tf.constant(asked)))
    rows = [{"user": int(one)} for one in asked]
    _, answer = serve().post(":predict", {"instances": rows})
    np.testing.assert_allclose(answer["predictions"], expected, rtol=0, atol=1e-6)


def test_ragged_ids(embedding, folder, serve):
    class Scores(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = embedding("items", combiner="sum")
            self.dense = keras.layers.Dense(1)

        def call(self, items):
            return self.dense(self.embedding(items))

    items = tf.ragged.constant([[3, 4], [], [5, 3, 7]], tf.int64)
    model = Scores()
    model(items, training=True)  # Makes rows.
    spec = tf.RaggedTensorSpec((None, None), tf.int64, row_splits_dtype=tf.int64)
    ptf.serving.export(model, folder / "1", inputs=spec)
    expected = model(items, training=False)
    client = serve(max_batch_size=100)
    parts = {
        "input_values": items.values.numpy(),
        "input_row_splits": items.row_splits.numpy(),
    }
    by_grpc = client.predict(**parts)["output"]
    np.testing.assert_allclose(by_grpc, expected, rtol=0, atol=1e-6)
    columns = {name: part.tolist() for name, part in parts.items()}
    _, answer = client.post(":predict", {"inputs": columns})
    np.testing.assert_allclose(answer["outputs"], expected, rtol=0, atol=1e-6)


def test_a_newer_export_takes_over(embedding, folder, serve):
    ids = keras.Input((), dtype="int64", name="ids")
    model = scores_of(ids, embedding("ids")(ids))
    asked = np.arange(COUNT)
    train(model, asked)
    ptf.serving.export(model, folder / "1")
    client = serve()
    before = client.predict(ids=asked)["score"]
    train(model, asked)
    ptf.serving.export(model, folder / "2")
    client.server.poll()
    after = client.predict(ids=asked)["score"]
    assert np.abs(after - before).max() > 1e-4
    np.testing.assert_allclose(after, model(tf.constant(asked)), rtol=0, atol=1e-6)
