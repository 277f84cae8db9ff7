"""Exports that ask shards, in the program that trains."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras
from persia_tf.credentials import tls
from persia_tf.serving import remote_clients

COUNT = 64
REMOTE = {"mode": "remote"}
TAGS = np.array(["", "a", "b", "c", "unheard of"], object)
TOKEN = b"a token that nobody else has"


@pytest.fixture
def cluster(request, start_shards):
    """A cluster with as many shards as the test asks for, or else two."""
    shards = start_shards(getattr(request, "param", 2))
    return ptf.Cluster([shard.address for shard in shards], timeout=20)


@pytest.fixture
def model(embedding):
    """A model of two inputs, trained for a few steps."""
    inputs = [keras.Input((), dtype="int64", name=name) for name in ("user", "film")]
    vectors = [embedding(name)(one) for name, one in zip(("user", "film"), inputs)]
    joined = keras.layers.Concatenate()(vectors)
    model = keras.Model(inputs, keras.layers.Dense(1, name="score")(joined))
    model.compile("sgd", "mse")
    train(model)
    return model


def some_ids(seed=2, least=-20):
    draw = np.random.default_rng(seed)
    return [draw.integers(least, 20, COUNT) for _ in range(2)]


def train(model):
    model.fit(some_ids(1, 0), np.ones((COUNT, 1)), batch_size=16, verbose=0)
    ptf.flush()


def serving(path):
    return tf.saved_model.load(path).signatures["serving_default"]


def answer(serve, ids=None):
    user, film = some_ids() if ids is None else ids
    found = serve(user=tf.constant(user), film=tf.constant(film))
    return found["score"].numpy()


def predictions(model, ids=None):
    return np.asarray(model(some_ids() if ids is None else ids, training=False))


def stats_of(cluster):
    """Returns the counters of the only client of a test's shards."""
    [stats] = [
        stats
        for stats in ptf.serving.remote_stats()
        if stats.addresses == cluster.shards
    ]
    return stats


@pytest.mark.parametrize("cluster", [1, 3], indirect=True)
def test_it_answers_as_the_model_does(model, path, cluster):
    ptf.serving.export(model, path, **REMOTE)
    serve = serving(path)
    np.testing.assert_allclose(answer(serve), predictions(model), rtol=0, atol=1e-6)
    stats = stats_of(cluster)
    assert stats.cluster == "ps"
    assert stats.lookups == 2
    assert stats.ids == 2 * COUNT
    assert stats.unique_ids == sum(len(np.unique(ids)) for ids in some_ids())
    assert 1 <= stats.requests <= 2
    assert sum(stats.latencies) == 2
    assert stats.failures == stats.zeros == stats.hot_hits == stats.hot_misses == 0


def test_lookups_of_a_call_go_as_one_request(model, path, cluster):
    ptf.serving.export(model, path, **REMOTE)
    serve = serving(path)
    for _ in range(20):
        answer(serve)
    stats = stats_of(cluster)
    assert stats.lookups == 40
    assert stats.requests < 30  # Twenty, once it is known that two lookups come.


def test_strings_ragged_ids_and_weights(embedding, path, cluster):
    class Scores(keras.Model):
        def __init__(self):
            super().__init__()
            self.items = embedding("items", combiner="mean")
            self.tags = embedding("tags", combiner="sum", mask_zero=True)
            self.hashed = embedding(
                "hashed", compression=ptf.compression.HashStack(1000)
            )
            self.dense = keras.layers.Dense(1)

        def call(self, inputs):
            vectors = [
                self.items(inputs["items"], inputs["weights"]),
                self.tags(inputs["tags"]),
                self.hashed(inputs["user"]),
            ]
            return self.dense(tf.concat(vectors, -1))

    draw = np.random.default_rng(4)
    splits = np.sort(draw.integers(0, 3 * COUNT, COUNT - 1))
    splits = np.concatenate([[0], splits, [3 * COUNT]])
    values = draw.integers(-20, 20, 3 * COUNT)
    weights = draw.random(3 * COUNT).astype("float32")
    tags = draw.choice(TAGS, (COUNT, 3))
    user = draw.integers(0, 2**62, COUNT)
    model = Scores()
    inputs = {
        "items": tf.RaggedTensor.from_row_splits(values, splits),
        "weights": tf.RaggedTensor.from_row_splits(weights, splits),
        "tags": tf.constant(tags),
        "user": tf.constant(user),
    }
    model(inputs, training=True)  # Makes rows.
    specs = {
        "items": tf.RaggedTensorSpec((None, None), tf.int64),
        "weights": tf.RaggedTensorSpec((None, None), tf.float32),
        "tags": tf.TensorSpec((None, 3), tf.string),
        "user": tf.TensorSpec((None,), tf.int64),
    }
    ptf.serving.export(model, path, inputs=specs, **REMOTE)
    found = serving(path)(
        items_values=tf.constant(values),
        items_row_splits=tf.constant(splits),
        weights_values=tf.constant(weights),
        weights_row_splits=tf.constant(splits),
        tags=tf.constant(tags),
        user=tf.constant(user),
    )
    expected = np.asarray(model(inputs, training=False))
    np.testing.assert_allclose(found["output"], expected, rtol=0, atol=1e-6)


def test_it_follows_training(model, path):
    ptf.serving.export(model, path, **REMOTE)
    serve = serving(path)
    before = answer(serve)
    weights = model.get_layer("score").get_weights()
    train(model)
    model.get_layer("score").set_weights(weights)  # The export has its own.
    after = answer(serve)
    assert np.abs(after - before).max() > 1e-4
    np.testing.assert_allclose(after, predictions(model), rtol=0, atol=1e-6)


def test_constant_ids_follow_training_too(embedding, path):
    class Bias(keras.Model):
        def __init__(self):
            super().__init__()
            self.rows = embedding("bias")

        def call(self, inputs):
            return inputs + self.rows(tf.constant([7]))

    model = Bias()
    model(tf.zeros((1, 4)), training=True)  # Makes the row.
    specs = tf.TensorSpec((None, 4), tf.float32, name="x")
    ptf.serving.export(model, path, inputs=specs, **REMOTE)
    serve = serving(path)
    serve(x=tf.zeros((1, 4)))
    model.rows.rows.assign([7], [[1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(
        serve(x=tf.zeros((1, 4)))["output"], [[1.0, 2.0, 3.0, 4.0]]
    )


def test_it_makes_no_rows(model, path, cluster):
    ptf.serving.export(model, path, **REMOTE)
    rows = [table.rows for shard in cluster.stats() for table in shard.tables]
    unknown = [np.arange(10**6, 10**6 + COUNT)] * 2
    found = answer(serving(path), unknown)
    np.testing.assert_array_equal(found, np.repeat(found[:1], COUNT, 0))
    now = [table.rows for shard in cluster.stats() for table in shard.tables]
    assert now == rows


def test_copies_answer_for_a_while(model, path, cluster):
    remote = ptf.serving.Remote(hot_rows=1000, hot_seconds=3600)
    ptf.serving.export(model, path, remote=remote, **REMOTE)
    serve = serving(path)
    before = answer(serve)
    train(model)
    np.testing.assert_array_equal(answer(serve), before)
    stats = stats_of(cluster)
    asked = sum(len(np.unique(ids)) for ids in some_ids())
    # Absent ids are copied too.
    assert (stats.hot_misses, stats.hot_hits) == (asked, asked)
    assert stats.hot_rows == asked
    assert stats.hot_bytes > 0


def client_of(cluster):
    [client] = [
        client
        for client in remote_clients.remote_clients()
        if client.stats().addresses == cluster.shards
    ]
    return client


def test_copies_are_told_of_changes(embedding, path, cluster, table):
    ids = keras.Input((), dtype="int64", name="ids")
    model = keras.Model(ids, embedding("ids")(ids))
    expected = np.array(model(np.arange(4), training=True))
    ptf.flush()
    remote = ptf.serving.Remote(hot_rows=10)
    ptf.serving.export(model, path, remote=remote, **REMOTE)
    serve = serving(path)

    def rows():
        [found] = serve(ids=tf.range(4, dtype=tf.int64)).values()
        return found.numpy()

    rows()  # The client connects.
    client = client_of(cluster)
    assert client.stats().hot_rows == 0
    client.set_followed(True)
    np.testing.assert_array_equal(rows(), expected)
    client.refresh(f"{table}_ids", np.array([2]), np.ones((1, 4)))
    expected[2] = 1
    np.testing.assert_array_equal(rows(), expected)
    assert client.stats().hot_hits == 4
    model.layers[-1].rows.assign([2], [[5, 6, 7, 8]])
    client.erase(f"{table}_ids", np.array([2]))
    expected[2] = [5, 6, 7, 8]
    np.testing.assert_array_equal(rows(), expected)
    with pytest.raises(ValueError, match="must be of shape"):
        client.refresh(f"{table}_ids", np.array([2]), np.ones(4))
    client.close()
    with pytest.raises(errors.NotFoundError, match="already closed"):
        client.close()
    np.testing.assert_array_equal(rows(), expected)  # A loaded model keeps the client.


def test_threads_get_their_own_answers(model, path):
    ptf.serving.export(model, path, **REMOTE)
    serve = serving(path)
    batches = [some_ids(seed) for seed in range(4)]
    expected = [predictions(model, ids) for ids in batches]
    wrong = []

    def ask(ids, scores):
        for _ in range(25):
            if not np.allclose(answer(serve, ids), scores, rtol=0, atol=1e-6):
                wrong.append(ids)

    threads = [
        threading.Thread(target=ask, args=each) for each in zip(batches, expected)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not wrong


def test_it_asks_embedding_workers(
    path, start_shards, start_worker, table, monkeypatch
):
    shards = [shard.address for shard in start_shards(2)]
    workers = [start_worker(shards) for _ in range(2)]
    ids = keras.Input((), dtype="int64", name="ids")
    layer = ptf.layers.PersiaEmbedding(
        4, table=table, cluster=ptf.Cluster(workers, timeout=20)
    )
    model = keras.Model(ids, layer(ids))
    asked = np.arange(100)
    model(asked, training=True)
    ptf.serving.export(model, path, **REMOTE)
    # Workers do not hold rows, so their number may change.
    monkeypatch.setenv("PERSIA_PS", workers[1])
    [found] = serving(path)(ids=tf.constant(asked)).values()
    np.testing.assert_array_equal(found, np.asarray(model(asked)))


def test_the_manifest_says_what_it_needs(model, path, cluster):
    export = ptf.serving.export(model, path, **REMOTE)
    text = Path(path, "assets.extra", "persia_export.json").read_text()
    manifest = json.loads(text)
    assert manifest["mode"] == "remote"
    assert manifest["clusters"] == [
        {"name": "ps", "addresses": list(cluster.shards), "variable": "PERSIA_PS"}
    ]
    assert "tf.load_op_library" in manifest["needs"]
    assert [table.cluster for table in export.tables] == ["ps", "ps"]
    assert [table.rows for table in export.tables] == [0, 0]


def test_it_is_small(model, path):
    ptf.serving.export(model, path, **REMOTE)
    files = [file for file in Path(path).rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 200_000


def test_tables_of_two_clusters(embedding, path, table, start_shards, cluster):
    [other] = start_shards(1)
    elsewhere = ptf.Cluster([other.address], timeout=20)
    ids = keras.Input((), dtype="int64", name="ids")
    far = ptf.layers.PersiaEmbedding(4, table=f"{table}_far", cluster=elsewhere)
    model = keras.Model(ids, keras.layers.Add()([embedding("near")(ids), far(ids)]))
    asked = np.arange(10)
    model(asked, training=True)
    ptf.serving.export(model, path, **REMOTE)
    [found] = serving(path)(ids=tf.constant(asked)).values()
    expected = np.asarray(model(asked))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert {stats_of(cluster).cluster, stats_of(elsewhere).cluster} == {"ps_0", "ps_1"}


def test_embedded_rows_cannot_be_asked_for(path, table):
    ids = keras.Input((), dtype="int64", name="ids")
    layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=ptf.Cluster.embedded())
    model = keras.Model(ids, layer(ids))
    with pytest.raises(ValueError, match="needs tables on shards.*embedded in this"):
        ptf.serving.export(model, path, **REMOTE)
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "`timeout` must be a number from 0.001 to 1e"),
        ({"timeout": 1e9}, "`timeout` must be a number from 0.001"),
        ({"timeout": float("nan")}, "`timeout` must be a number from 0.001"),
        ({"on_failure": "zeros"}, "`on_failure` must be one of"),
        ({"hot_rows": -1}, "`hot_rows` must be an integer from 0"),
        ({"hot_rows": 1, "hot_seconds": -1}, "`hot_seconds` must be a number from 0"),
        ({"hot_seconds": 1}, "give both"),
    ],
)
def test_options_out_of_their_range(options, message):
    with pytest.raises(ValueError, match=message):
        ptf.serving.Remote(**options)


def test_a_time_is_a_number():
    with pytest.raises(TypeError, match="`timeout` must be a number from"):
        ptf.serving.Remote(timeout="1")


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "standalone", "remote": ptf.serving.Remote()},
        {"mode": "remote", "row_dtype": "int8"},
        {"mode": "remote", "rows": ptf.serving.KeepRows(min_count=2)},
    ],
)
def test_options_of_the_other_mode(model, path, options):
    with pytest.raises(ValueError, match="mode="):
        ptf.serving.export(model, path, **options)


def test_a_token_is_the_environments(
    start_shards, token_file, table, path, monkeypatch
):
    shards = start_shards(2, auth_token=TOKEN)
    addresses = [shard.address for shard in shards]
    serve, expected = exported_from(
        ptf.Cluster(addresses, timeout=20, auth_token_file=token_file(TOKEN)),
        *(table, path),
    )
    monkeypatch.setenv("PERSIA_AUTH_TOKEN_FILE", token_file(TOKEN, "serving"))
    np.testing.assert_array_equal(serve(), expected)
    assert TOKEN not in Path(path, "saved_model.pb").read_bytes()


def test_without_the_token_the_error_says_so(start_shards, token_file, table, path):
    shards = start_shards(1, auth_token=TOKEN)
    serve, _ = exported_from(
        ptf.Cluster([shards[0].address], auth_token_file=token_file(TOKEN)),
        *(table, path),
    )
    with pytest.raises(tf.errors.UnauthenticatedError, match="PERSIA_AUTH_TOKEN_FILE"):
        serve()


def test_tls_is_the_environments(start_shards, certificates, table, path, monkeypatch):
    server = tls.read(certificates.tls("ps-0"))
    shards = start_shards(2, tls=server.native())
    trainer = certificates.tls("trainer")
    serve, expected = exported_from(
        ptf.Cluster([shard.address for shard in shards], timeout=20, tls=trainer),
        *(table, path),
    )
    for name, file in trainer.environment().items():
        monkeypatch.setenv(name, file)
    np.testing.assert_array_equal(serve(), expected)


def exported_from(cluster, table, path):
    """Exports a model; returns a function that asks it for some ids, and the answer."""
    ids = keras.Input((), dtype="int64", name="ids")
    layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)
    model = keras.Model(ids, layer(ids))
    asked = np.arange(10)
    expected = np.asarray(model(asked, training=True))
    ptf.serving.export(model, path, **REMOTE)

    def serve():
        [found] = serving(path)(ids=tf.constant(asked)).values()
        return found.numpy()

    return serve, expected


def test_one_shard_of_the_cluster_is_enough(model, path, cluster, monkeypatch):
    ptf.serving.export(model, path, **REMOTE)
    expected = predictions(model)
    monkeypatch.setenv("PERSIA_PS", cluster.shards[1])
    np.testing.assert_allclose(answer(serving(path)), expected, rtol=0, atol=1e-6)
