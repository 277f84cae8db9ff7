"""Conversions in which many layers become one, with the results of one each."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.layers import PersiaEmbedding, PersiaEmbeddings

ROWS = 50
DIM = 4
layers = keras.layers
RANDOM = np.random.default_rng(0)
INPUTS = {
    "user": RANDOM.integers(0, ROWS, 32),
    "movies": RANDOM.integers(0, ROWS, (32, 3)),
    "word": RANDOM.choice(["a", "b", "c"], 32).astype(object),
    "number": RANDOM.uniform(0, ROWS - 1, (32, 2)).astype("float32"),
}
LABELS = RANDOM.normal(size=(32, 1)).astype("float32")


@pytest.fixture
def cluster_of_two(start_shards):
    """Two shards whose rows are up to date in every step."""
    addresses = [shard.address for shard in start_shards(2)]
    return ptf.Cluster(addresses, timeout=20, staleness=0)


@pytest.fixture
def convert(table):
    """Converts a model; its tables have names that no other test uses."""

    def run(model, **options):
        options = {"min_rows": ROWS, "table_prefix": f"{table}/", **options}
        return ptf.convert(model, **{"together": True, **options})

    return run


def inputs_of():
    return {
        "user": keras.Input((), dtype="int32", name="user"),
        "movies": keras.Input((3,), dtype="int64", name="movies"),
        "word": keras.Input((), dtype="string", name="word"),
        "number": keras.Input((2,), name="number"),
    }


def embedding(name, **options):
    return layers.Embedding(ROWS, DIM, name=name, **options)


def ranking_model():
    """Masks, ids that are computed, dims and initializers that differ, and no one."""
    inputs = inputs_of()
    lookup = layers.StringLookup(vocabulary=["a", "b"], name="lookup")
    words = lookup(inputs["word"])
    movies = embedding("movie_rows", mask_zero=True, embeddings_initializer="normal")
    vectors = [
        embedding("user_rows")(inputs["user"]),
        layers.Embedding(ROWS + 1, 3, name="word_rows")(words),
        layers.Embedding(5, 2, name="small")(words),
        layers.GlobalAveragePooling1D()(movies(inputs["movies"])),
        layers.Dense(2)(inputs["number"]) * 2.0,
    ]
    hidden = layers.Dense(5, "relu")(layers.Concatenate()(vectors))
    return keras.Model(inputs, {"score": layers.Dense(1)(hidden)}, name="ranking")


def separate_layers(clone):
    return [each for each in clone.layers if isinstance(each, PersiaEmbedding)]


def the_layer(clone):
    (layer,) = (each for each in clone.layers if isinstance(each, PersiaEmbeddings))
    return layer


def train(model, optimizer="adam"):
    model.compile(optimizer, {"score": "mse"})
    data = tf.data.Dataset.from_tensor_slices((INPUTS, {"score": LABELS})).batch(8)
    model.fit(data, epochs=3, verbose=0)
    ptf.flush()
    return model.predict(INPUTS, verbose=0)["score"]


def predicted(model, inputs=INPUTS):
    return model.predict(inputs, verbose=0)


def assert_predicts_the_same(clone, model, inputs=INPUTS):
    tf.nest.map_structure(
        np.testing.assert_array_equal,
        predicted(clone, inputs),
        predicted(model, inputs),
    )


def notes_of(report):
    return {layer.path: "; ".join(layer.notes) for layer in report.converted}


def tables_of(report, cluster, rows_of):
    return {
        layer.table: {
            row_id: row.tolist()
            for row_id, row in rows_of(layer.table, cluster).items()
        }
        for layer in report.converted
    }


def test_one_layer_has_the_rows_of_all(convert, table, cluster):
    model = ranking_model()
    clone, report = convert(model, cluster=cluster)
    assert_predicts_the_same(clone, model)
    layer = the_layer(clone)
    assert layer.name == "embeddings"
    assert not separate_layers(clone)
    assert set(layer.features) == {"user_rows", "word_rows", "movie_rows"}
    for feature, rows in layer.rows.items():
        assert rows.name == f"{table}/{feature}"
        weights = model.get_layer(feature).get_weights()[0]
        np.testing.assert_array_equal(rows.lookup(np.arange(len(weights))), weights)
    assert set(notes_of(report)) == set(layer.features)
    assert set(notes_of(report).values()) == {
        "together with others in layer 'embeddings'"
    }
    assert [layer.path for layer in report.left] == ["small"]


@pytest.mark.parametrize("optimizer", [None, "adagrad"])
def test_it_trains_what_separate_layers_train(
    convert, cluster_of_two, rows_of, optimizer
):
    model = ranking_model()
    results = []
    for together in (False, True):
        clone, report = convert(
            model, optimizer=optimizer, cluster=cluster_of_two, together=together
        )
        found = train(clone)
        tables = tables_of(report, cluster_of_two, rows_of)
        results.append((found.tolist(), tables))
        for name in tables:
            ptf.Table(name, cluster_of_two).drop()
    (expected, expected_tables), (found, tables) = results
    assert found == expected
    assert tables == expected_tables
    assert all(len(rows) >= ROWS for rows in tables.values())


@pytest.mark.parametrize(("together", "lookups"), [(True, 1), (False, 3)])
def test_a_step_has_one_lookup(together, lookups, convert):
    clone, _ = convert(ranking_model(), together=together)
    inputs = {name: tf.constant(each) for name, each in INPUTS.items()}
    step = tf.function(lambda x: clone(x, training=True)).get_concrete_function(inputs)
    kinds = [op.type for op in step.graph.get_operations()]
    assert kinds.count("PersiaIssue") == kinds.count("PersiaRows") == lookups


def test_structures_and_layers_stay(convert):
    model = ranking_model()
    clone, _ = convert(model)
    assert clone.name == "ranking"
    assert set(clone.input) == set(INPUTS)
    assert set(clone.output) == {"score"}
    names = {layer.name for layer in model.layers}
    assert {layer.name for layer in clone.layers} == {
        *(names - set(the_layer(clone).features)),
        "embeddings",
    }


def test_the_default_is_a_layer_for_each(convert):
    clone, report = convert(ranking_model(), together=False)
    assert len(separate_layers(clone)) == 3
    assert set(notes_of(report).values()) == {""}


def test_a_clone_that_is_saved_has_its_rows(convert, tmp_path):
    clone, report = convert(ranking_model())
    expected = train(clone)
    clone.save(tmp_path / "model.keras")
    for layer in report.converted:
        ptf.Table(layer.table).drop()
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(predicted(loaded)["score"], expected)
    assert list(the_layer(loaded).features) == list(the_layer(clone).features)


def test_weights_can_be_loaded_into_another_clone(convert, table, tmp_path):
    model = ranking_model()
    clone, _ = convert(model)
    expected = train(clone)
    clone.save_weights(tmp_path / "model.weights.h5")
    other, _ = convert(model, table_prefix=f"{table}/other/")
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(predicted(other)["score"], expected)


def test_workers_may_all_convert_the_same_model(convert):
    model = ranking_model()
    for _ in range(2):
        assert_predicts_the_same(convert(model)[0], model)


def test_a_table_of_other_rows_is_not_overwritten(convert):
    convert(ranking_model())
    with pytest.raises(ValueError, match=r"already holds rows.*table_prefix"):
        convert(ranking_model())


def test_the_clone_can_be_prefetched(convert):
    model = ranking_model()
    clone, _ = convert(model)
    clone.compile("sgd", {"score": "mse"})
    data = tf.data.Dataset.from_tensor_slices((INPUTS, {"score": LABELS})).batch(8)
    clone.fit(ptf.data.prefetch(data, clone), verbose=0)


def test_every_feature_has_the_weight_decay_of_its_regularizer(convert):
    ids = keras.Input((), dtype="int64")
    vectors = [
        embedding("a", embeddings_regularizer=keras.regularizers.L2(0.25))(ids),
        embedding("b")(ids),
        embedding("c", embeddings_regularizer=keras.regularizers.L1(0.25))(ids),
    ]
    model = keras.Model(ids, layers.Add()(vectors))
    clone, report = convert(model, optimizer="sgd", regularizers="weight_decay")
    features = dict(the_layer(clone).get_config()["features"])
    decays = {
        name: options["optimizer"]["config"]["weight_decay"]
        for name, options in features.items()
    }
    assert decays == {"a": 0.5, "b": None}
    assert "weight_decay=0.5" in notes_of(report)["a"]
    assert [layer.path for layer in report.left] == ["c"]


def mixed_model():
    """Two layers that can share a lookup, and one for each reason against it."""
    inputs = inputs_of()
    user, number = inputs["user"], inputs["number"]
    tower_ids = keras.Input((), dtype="int32", name="tower_ids")
    shared = embedding("shared")
    tower = keras.Model(
        tower_ids,
        layers.Add()([embedding("inner")(tower_ids), shared(tower_ids)]),
        name="tower",
    )
    one = embedding("one")(user)
    two = embedding("two")(inputs["movies"])
    twice = embedding("twice")
    signs = layers.Discretization([0.0], name="signs")(one)
    half = embedding("half", dtype="bfloat16")(user)
    frozen = embedding("frozen", trainable=False)(user)
    vectors = [
        *(one, layers.Flatten()(two), twice(user), twice(user // 2)),
        *(tower(user), shared(user), layers.Flatten()(embedding("behind")(signs))),
        *(embedding("of_floats")(number[:, 0]), layers.Dense(2)(number), frozen),
        layers.Activation("linear", dtype="float32")(half),
        embedding("active", activity_regularizer="l2")(user),
    ]
    score = layers.Dense(1)(layers.Concatenate()(vectors))
    return keras.Model(inputs, {"score": score})


def test_what_cannot_share_the_lookup_has_a_layer_of_its_own(convert):
    model = mixed_model()
    clone, report = convert(model)
    assert_predicts_the_same(clone, model)
    assert set(the_layer(clone).features) == {"one", "two"}
    why = {
        path: note.removeprefix("in a layer of its own, since ")
        for path, note in notes_of(report).items()
        if path not in ("one", "two")
    }
    another = "most others have another dtype or `trainable`"
    assert why == {
        "active": "it has an activity_regularizer",
        "behind": "its ids depend on the vectors of another Embedding",
        "frozen": another,
        "half": another,
        "of_floats": "its ids are floats",
        "tower/inner": "it is in a nested model",
        "tower/shared": "it is called more than once",
        "twice": "it is called more than once",
    }
    assert not clone.get_layer("frozen").trainable
    assert len(clone.trainable_variables) == len(model.trainable_variables) - 1


def test_a_mixed_model_trains_what_separate_layers_train(
    convert, cluster_of_two, rows_of
):
    model = mixed_model()
    model.get_layer("active").activity_regularizer = None
    results = []
    for together in (False, True):
        clone, report = convert(model, cluster=cluster_of_two, together=together)
        clone.compile("sgd", {"score": "mse"})
        clone.train_on_batch(INPUTS, {"score": LABELS})
        ptf.flush()
        tables = tables_of(report, cluster_of_two, rows_of)
        results.append(tables)
        for name in tables:
            ptf.Table(name, cluster_of_two).drop()
    assert results[0] == results[1]


def test_a_frozen_model_stays_frozen(convert):
    model = ranking_model()
    model.trainable = False
    clone, _ = convert(model)
    assert not clone.trainable and not the_layer(clone).trainable
    assert clone.trainable_variables == []


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
def test_dtype_policies_stay(policy, convert):
    ids = keras.Input((), dtype="int64")
    vectors = [embedding(name, dtype=policy)(ids) for name in ("a", "b")]
    model = keras.Model(ids, vectors)
    clone, _ = convert(model)
    assert the_layer(clone).compute_dtype == model.get_layer("a").compute_dtype
    assert_predicts_the_same(clone, model, INPUTS["user"])


def sequential_model():
    return keras.Sequential([keras.Input((), dtype="int64"), embedding("rows")])


def model_of_one_layer():
    ids = keras.Input((), dtype="int64")
    return keras.Model(ids, embedding("rows")(ids))


@pytest.mark.parametrize(
    ("model_of", "reason"),
    [
        (sequential_model, "the model is Sequential"),
        (model_of_one_layer, "no other Embedding can share its lookup"),
    ],
)
def test_a_layer_that_would_be_alone_is_converted_as_ever(model_of, reason, convert):
    model = model_of()
    clone, report = convert(model)
    assert type(clone.get_layer("rows")) is PersiaEmbedding
    assert notes_of(report) == {"rows": f"in a layer of its own, since {reason}"}
    assert_predicts_the_same(clone, model, INPUTS["user"])


def test_a_clone_may_be_converted_again(convert):
    model = ranking_model()
    clone, _ = convert(model)
    again, report = convert(clone, min_rows=5)
    assert [layer.path for layer in report.converted] == ["small"]
    assert the_layer(again).name == "embeddings"
    assert_predicts_the_same(again, model)


def test_a_name_that_another_layer_has_is_not_taken(convert):
    ids = keras.Input((), dtype="int64")
    total = layers.Add(name="embeddings")([embedding(name)(ids) for name in "ab"])
    clone, _ = convert(keras.Model(ids, layers.ReLU(name="embeddings_1")(total)))
    assert the_layer(clone).name == "embeddings_2"


@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 has no losses of symbolic tensors")
def test_losses_that_are_added_to_a_model_stay(convert):
    ids = keras.Input((), dtype="int64")
    vectors = [embedding(name)(ids) for name in "ab"]
    model = keras.Model(ids, layers.Add()(vectors))
    model.add_loss(tf.reduce_mean(vectors[0]))
    clone, report = convert(model)
    assert len(clone.losses) == len(model.losses) == 1
    assert len(separate_layers(clone)) == 2
    assert all("`add_loss`" in note for note in notes_of(report).values())


def test_ragged_ids(convert):
    ids = keras.Input((None,), dtype="int64", ragged=True)
    vectors = [embedding(name)(ids) for name in "ab"]
    model = keras.Model(ids, vectors)
    clone, _ = convert(model)
    inputs = tf.ragged.constant([[1, 2], [3]], dtype=tf.int64)
    for ours, keras_own in zip(clone(inputs), model(inputs)):
        assert ours.to_list() == keras_own.to_list()
    assert len(the_layer(clone).features) == 2


def test_models_of_a_strategy(convert, cluster):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model = ranking_model()
        clone, _ = convert(model, cluster=cluster)
        clone.compile("sgd", {"score": "mse"})
    assert_predicts_the_same(clone, model)
    clone.fit(INPUTS, {"score": LABELS}, verbose=0)


def test_a_choice_that_is_no_bool_is_refused(convert):
    with pytest.raises(TypeError, match="`together`"):
        convert(ranking_model(), together=1)
