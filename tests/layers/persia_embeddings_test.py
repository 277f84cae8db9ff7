"""`PersiaEmbeddings`: many features as one layer, with the results of one each."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

ROWS = 64
RANDOM = np.random.default_rng(0)
IDS = {
    "user": RANDOM.integers(1, 30, ROWS),
    "tags": RANDOM.integers(0, 9, (ROWS, 3)),
    "words": RANDOM.integers(0, 20, ROWS).astype(str).astype(object),
}
LABELS = RANDOM.normal(size=(ROWS, 1)).astype("float32")


@pytest.fixture
def configs(table):
    """The features' options; each table has a name of this test."""
    return {
        "user": ptf.TableConfig(8, table=f"{table}_user", optimizer="adagrad"),
        "tags": ptf.TableConfig(
            4, table=f"{table}_tags", combiner="mean", mask_zero=True
        ),
        "words": ptf.TableConfig(6, table=f"{table}_words", absent="oov"),
    }


def inputs_of(ids):
    return {
        name: keras.Input(
            each.shape[1:],
            dtype="string" if each.dtype == object else "int64",
            name=name,
        )
        for name, each in ids.items()
    }


def model_of(vectors_of, ids=IDS):
    inputs = inputs_of(ids)
    kernel = keras.initializers.RandomNormal(seed=1)
    head = keras.layers.Dense(1, kernel_initializer=kernel)
    model = keras.Model(inputs, head(vectors_of(inputs)))
    model.compile("adam", "mse")
    return model


def separate(configs, cluster):
    def vectors_of(inputs):
        return keras.layers.Concatenate()(
            [
                ptf.layers.PersiaEmbedding(**config.options(), cluster=cluster)(
                    inputs[name]
                )
                for name, config in configs.items()
            ]
        )

    return vectors_of


def together(configs, cluster, joined=True):
    def vectors_of(inputs):
        layer = ptf.layers.PersiaEmbeddings(configs, joined=joined, cluster=cluster)
        vectors = layer(inputs)
        if joined:
            return vectors
        return keras.layers.Concatenate()([vectors[name] for name in configs])

    return vectors_of


def fit(model, ids=IDS, epochs=3):
    data = tf.data.Dataset.from_tensor_slices((ids, LABELS)).batch(16)
    model.fit(data, epochs=epochs, verbose=0)
    return model.predict(ids, verbose=0)


def rows_of_tables(configs, cluster, rows_of):
    return {
        config.table: {
            row_id: row.tolist()
            for row_id, row in rows_of(config.table, cluster).items()
        }
        for config in configs.values()
    }


def drop(configs, cluster):
    for config in configs.values():
        ptf.Table(config.table, cluster).drop()


@pytest.mark.parametrize("joined", [False, True])
def test_it_trains_what_separate_layers_train(configs, make_shards, rows_of, joined):
    cluster = make_shards(2)
    expected = fit(model_of(separate(configs, cluster)))
    rows = rows_of_tables(configs, cluster, rows_of)
    drop(configs, cluster)
    found = fit(model_of(together(configs, cluster, joined)))
    np.testing.assert_array_equal(found, expected)
    assert rows_of_tables(configs, cluster, rows_of) == rows
    assert all(len(each) > 5 for each in rows.values())


def plain_configs(table, count=4):
    return {f"f{i}": ptf.TableConfig(4 + i, table=f"{table}_{i}") for i in range(count)}


def plain_ids(count=4):
    return {f"f{i}": np.arange(ROWS) % (7 + i) for i in range(count)}


def test_plain_features_are_joined_without_a_concat(table, shards):
    configs, ids = plain_configs(table), plain_ids()
    expected = fit(model_of(separate(configs, shards), ids), ids)
    drop(configs, shards)
    model = model_of(together(configs, shards), ids)
    found = fit(model, ids)
    np.testing.assert_array_equal(found, expected)
    layer = the_layer(model)
    graph = tf.function(lambda x: layer(x, training=True)).get_concrete_function(ids)
    kinds = [op.type for op in graph.graph.get_operations()]
    assert kinds.count("PersiaIssue") == kinds.count("PersiaRows") == 1
    assert "ConcatV2" not in kinds


# One shard pools; with two shards, this process does.
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("combiner", ["sum", "mean"])
def test_pooled_features_are_joined_too(table, make_shards, rows_of, count, combiner):
    cluster = make_shards(count)
    configs = {
        name: ptf.TableConfig(4, table=f"{table}_{name}", combiner=combiner)
        for name in ("a", "b")
    }
    ids = {name: RANDOM.integers(0, 40, (ROWS, 5)) for name in configs}
    expected = fit(model_of(separate(configs, cluster), ids), ids)
    rows = rows_of_tables(configs, cluster, rows_of)
    drop(configs, cluster)
    found = fit(model_of(together(configs, cluster), ids), ids)
    np.testing.assert_array_equal(found, expected)
    assert rows_of_tables(configs, cluster, rows_of) == rows


def test_features_of_other_shapes_are_not_joined(table):
    layer = ptf.layers.PersiaEmbeddings(plain_configs(table, 2), joined=True)
    with pytest.raises(ValueError, match=r"\(3, 5\) for 'f1'"):
        layer({"f0": np.array([1, 2]), "f1": np.array([1, 2, 3])})
    with pytest.raises(ValueError, match=r"\(2, 3, 5\) for 'f1'"):
        layer({"f0": np.arange(6), "f1": np.arange(6).reshape(2, 3)})
    inputs = {
        "f0": keras.Input((2, 3), dtype="int64"),
        "f1": keras.Input((3, 2), dtype="int64"),
    }
    with pytest.raises(ValueError, match="joins vectors whose shapes are the same"):
        layer(inputs)
    sized = tf.TensorSpec((None,), tf.int64)
    call = tf.function(layer.__call__, input_signature=[{"f0": sized, "f1": sized}])
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 for '.*f1'"):
        call({"f0": tf.range(2, dtype="int64"), "f1": tf.range(3, dtype="int64")})


def test_a_file_may_be_without_the_rows(configs, shards, tmp_path):
    model = model_of(together(configs, shards))
    expected = fit(model)
    path = str(tmp_path / "model.keras")
    with ptf.rows_stay():
        model.save(path)
        loaded = keras.models.load_model(path)
    np.testing.assert_array_equal(loaded.predict(IDS, verbose=0), expected)


def test_one_tensor_has_the_ids_of_all_features(table):
    configs, ids = plain_configs(table), plain_ids()
    layer = ptf.layers.PersiaEmbeddings(configs)
    matrix = np.stack([ids[name] for name in configs], axis=-1)
    layer(matrix, training=True)
    found = layer(matrix)
    expected = layer(ids)
    assert list(found) == list(configs)
    for name, vectors in expected.items():
        assert np.any(vectors)
        np.testing.assert_array_equal(found[name], vectors)
        np.testing.assert_array_equal(
            vectors, ptf.Table(configs[name].table).lookup(ids[name])
        )


def test_a_step_has_one_of_each_op(table):
    configs, ids = plain_configs(table), plain_ids()
    layer = ptf.layers.PersiaEmbeddings(configs, joined=True)
    layer(ids, training=True)
    optimizer = keras.optimizers.Adam()
    optimizer.build(layer.trainable_variables)

    @tf.function
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids, training=True))
        gradients = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables))

    operations = step.get_concrete_function(ids).graph.get_operations()
    kinds = sorted(op.type for op in operations if op.type.startswith("Persia"))
    assert kinds == ["PersiaCommit", "PersiaIssue", "PersiaRows", "PersiaStage"]


def test_ragged_ids_stay_ragged_or_are_pooled(table):
    configs = {
        "history": ptf.TableConfig(4, table=f"{table}_h"),
        "bag": ptf.TableConfig(4, table=f"{table}_b", combiner="sum"),
    }
    ids = {
        "history": tf.ragged.constant([[1, 2], [3]], dtype=tf.int64),
        "bag": tf.ragged.constant([[1, 2], []], dtype=tf.int64, ragged_rank=1),
    }
    layer = ptf.layers.PersiaEmbeddings(configs)
    layer(ids, training=True)
    vectors = layer(ids)
    rows = ptf.Table(f"{table}_b").lookup([1, 2])
    np.testing.assert_allclose(vectors["bag"], [rows.sum(axis=0), np.zeros(4)])
    assert vectors["history"].row_lengths().numpy().tolist() == [2, 1]


def test_a_feature_with_a_combiner_takes_weights(table):
    configs = {
        "a": ptf.TableConfig(4, table=f"{table}_a"),
        "b": ptf.TableConfig(4, table=f"{table}_b", combiner="sum"),
    }
    layer = ptf.layers.PersiaEmbeddings(configs)
    ids = {"a": np.array([1]), "b": np.array([[1, 2]])}
    layer(ids, training=True)
    found = layer(ids, {"b": np.array([[2.0, 3.0]], "float32")})
    rows = ptf.Table(f"{table}_b").lookup([1, 2])
    np.testing.assert_allclose(found["b"][0], 2 * rows[0] + 3 * rows[1], rtol=1e-5)


def the_layer(model):
    (layer,) = (
        each for each in model.layers if isinstance(each, ptf.layers.PersiaEmbeddings)
    )
    return layer


def test_a_model_that_is_saved_has_its_rows(configs, shards, tmp_path):
    model = model_of(together(configs, shards))
    expected = fit(model)
    model.save(tmp_path / "model.keras")
    drop(configs, shards)
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(IDS, verbose=0), expected)


def test_weights_are_loaded_whatever_the_order_of_the_features(
    configs, shards, tmp_path
):
    model = model_of(together(configs, shards))
    fit(model)
    ids = {name: tf.constant(each) for name, each in IDS.items()}
    expected = the_layer(model)(ids)
    model.save_weights(tmp_path / "model.weights.h5")
    drop(configs, shards)
    turned = {name: configs[name] for name in reversed(configs)}
    loaded = model_of(together(turned, shards))
    loaded.load_weights(tmp_path / "model.weights.h5")
    words, tags, user = tf.split(the_layer(loaded)(ids), [6, 4, 8], axis=-1)
    found = tf.concat([user, tags, words], axis=-1)
    assert np.any(found)
    np.testing.assert_array_equal(found, expected)


def test_a_checkpoint_of_tensorflow_has_the_rows(table, tmp_path):
    configs, ids = plain_configs(table), plain_ids()
    layer = ptf.layers.PersiaEmbeddings(configs)
    layer(ids, training=True)
    before = layer(ids)
    checkpoint = tf.train.Checkpoint(layer=layer)
    path = checkpoint.save(tmp_path / "checkpoint")
    rows = ptf.Table(configs["f0"].table)
    rows.assign(np.arange(7), np.zeros((7, 4), "float32"))
    checkpoint.restore(path)
    np.testing.assert_array_equal(layer(ids)["f0"], before["f0"])


def test_prefetched_batches_train_the_same(configs, make_shards):
    cluster = make_shards(2)
    expected = fit(model_of(together(configs, cluster)))
    drop(configs, cluster)
    model = model_of(together(configs, cluster))
    data = tf.data.Dataset.from_tensor_slices((IDS, LABELS)).batch(16)
    hits = ptf.metrics()["prefetch_hits"]
    model.fit(ptf.data.prefetch(data, model, staleness=0), epochs=3, verbose=0)
    np.testing.assert_array_equal(model.predict(IDS, verbose=0), expected)
    assert ptf.metrics()["prefetch_hits"] > hits


def test_features_may_have_learning_rates_of_their_own(table):
    configs = {
        "slow": ptf.TableConfig(
            1, table=f"{table}_s", optimizer=ptf.optimizers.SGD(0.25)
        ),
        "fast": ptf.TableConfig(
            1, table=f"{table}_f", optimizer=ptf.optimizers.SGD(0.5)
        ),
        "model": ptf.TableConfig(1, table=f"{table}_m"),
    }
    layer = ptf.layers.PersiaEmbeddings(configs, joined=True)
    ids = {name: np.array([1]) for name in configs}
    before = layer(ids, training=True)
    optimizer = keras.optimizers.SGD(1.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids, training=True))
    gradients = tape.gradient(loss, layer.trainable_variables)
    optimizer.apply_gradients(zip(gradients, layer.trainable_variables))
    ptf.flush()
    np.testing.assert_allclose(before - layer(ids), [[0.25, 0.5, 1.0]], rtol=1e-5)


def test_mixed_precision_trains_all_features(table):
    configs, ids = plain_configs(table), plain_ids()
    for dtype in ("mixed_float16", "mixed_bfloat16"):
        layer = ptf.layers.PersiaEmbeddings(configs, joined=True, dtype=dtype)
        vectors = layer(ids, training=True)
        assert vectors.dtype == dtype.removeprefix("mixed_")
        assert vectors.shape == (ROWS, 4 + 5 + 6 + 7)


def test_a_frozen_layer_trains_nothing(table):
    configs, ids = plain_configs(table), plain_ids()
    layer = ptf.layers.PersiaEmbeddings(configs, trainable=False)
    layer(ids, training=True)
    assert all(len(rows) == 0 for rows in layer.rows.values())
    layer.trainable = True
    layer(ids, training=True)
    assert len(layer.rows["f0"]) == 7


def test_padding_is_masked(table):
    configs = {
        "a": ptf.TableConfig(4, table=f"{table}_a", mask_zero=True),
        "b": ptf.TableConfig(4, table=f"{table}_b"),
    }
    layer = ptf.layers.PersiaEmbeddings(configs)
    ids = {"a": np.array([[1, 0]]), "b": np.array([[1, 0]])}
    mask = layer.compute_mask({name: tf.constant(each) for name, each in ids.items()})
    assert mask["a"].numpy().tolist() == [[True, False]]
    assert mask["b"] is None


@pytest.mark.parametrize("as_one_tensor", [False, True])
def test_joined_vectors_are_masked_as_by_a_concatenate(table, as_one_tensor):
    configs = {
        name: ptf.TableConfig(4, table=f"{table}_{name}", mask_zero=zero)
        for name, zero in (("a", True), ("b", True), ("c", False))
    }
    ids = np.array([[[1, 2, 0], [2, 0, 1], [3, 1, 0], [0, 0, 0]]])
    given = {name: ids[..., i] for i, name in enumerate("abc")}
    inputs = {name: keras.Input((None,), dtype="int64", name=name) for name in "abc"}
    if as_one_tensor:
        given, inputs = ids, keras.Input((None, 3), dtype="int64")
    layer = ptf.layers.PersiaEmbeddings(configs, joined=True)
    mean = keras.layers.GlobalAveragePooling1D()
    vectors = layer(inputs)
    model = keras.Model(inputs, [vectors, mean(vectors)])
    every, pooled = model.predict(given, verbose=0)
    # Places 0 and 2 are no padding in "a" and "b"; "c" has no padding.
    np.testing.assert_allclose(pooled, every[:, [0, 2]].mean(axis=1), rtol=1e-6)


def test_its_config_makes_an_equal_layer(configs):
    layer = ptf.layers.PersiaEmbeddings(configs, joined=True, name="many")
    config = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(config)
    assert again.get_config() == layer.get_config()
    assert again.features == ("user", "tags", "words")


def test_shapes_are_known_before_any_call(configs):
    layer = ptf.layers.PersiaEmbeddings(configs)
    shapes = {"user": (None,), "tags": (None, 3), "words": (None,)}
    expected = {"user": (None, 8), "tags": (None, 4), "words": (None, 6)}
    assert layer.compute_output_shape(shapes) == expected
    joined = ptf.layers.PersiaEmbeddings(configs, joined=True)
    assert joined.compute_output_shape(shapes) == (None, 18)


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ({}, ValueError, "at least one feature"),
        (["user"], TypeError, "a dict of ptf.TableConfig"),
        ({"user": 16}, TypeError, r"features\['user'\]. must be a ptf.TableConfig"),
        ({1: ptf.TableConfig(2)}, TypeError, "names in `features` must be str"),
        ({"user": ptf.TableConfig(0)}, ValueError, "feature 'user': .*output_dim"),
    ],
)
def test_features_that_it_refuses(features, error, message):
    with pytest.raises(error, match=message):
        ptf.layers.PersiaEmbeddings(features)


def test_inputs_that_it_refuses(configs, table):
    layer = ptf.layers.PersiaEmbeddings(configs)
    with pytest.raises(ValueError, match=r"lacks \['tags', 'words'\]"):
        layer({"user": np.array([1])})
    with pytest.raises(ValueError, match="if no feature has a combiner"):
        layer(np.array([[1, 2, 3]]))
    plain = ptf.layers.PersiaEmbeddings(plain_configs(table))
    with pytest.raises(ValueError, match="last axis has the 4 features"):
        plain(np.array([[1, 2, 3]]))
    with pytest.raises(ValueError, match="a dict of weights"):
        plain(np.array([[1, 2, 3, 4]]), {"other": np.ones(1)})


def test_ragged_vectors_are_not_joined(table):
    configs = {"a": ptf.TableConfig(2, table=table)}
    layer = ptf.layers.PersiaEmbeddings(configs, joined=True)
    with pytest.raises(ValueError, match="joins dense vectors only"):
        layer({"a": tf.ragged.constant([[1], [2, 3]], dtype=tf.int64)})
