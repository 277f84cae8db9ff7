"""Clones of plain Keras models whose large tables live in the cluster."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.layers import CastingPersiaEmbedding

ROWS = 50
DIM = 4
layers = keras.layers


@pytest.fixture
def convert(table, cluster):
    """Converts a model; its tables have names that no other test uses."""

    def run(model, **options):
        options = {"min_rows": ROWS, "table_prefix": f"{table}/", **options}
        return ptf.convert(model, cluster=cluster, **options)

    return run


@pytest.fixture
def convert_embedded(table):
    def run(model, **options):
        options = {"min_rows": ROWS, "table_prefix": f"{table}/", **options}
        return ptf.convert(model, **options)

    return run


def ids_of(shape, seed=0):
    return np.random.default_rng(seed).integers(0, ROWS, shape)


def functional_model(dtype="int64"):
    user = keras.Input((), name="user", dtype=dtype)
    movies = keras.Input((3,), name="movies", dtype=dtype)
    vectors = [
        layers.Embedding(ROWS, DIM, name="user_rows")(user),
        layers.Flatten()(layers.Embedding(ROWS + 1, DIM, name="movie_rows")(movies)),
        layers.Embedding(ROWS - 1, DIM, name="small")(user),
    ]
    hidden = layers.Dense(5, "relu")(layers.Concatenate()(vectors))
    return keras.Model(
        {"user": user, "movies": movies}, layers.Dense(1)(hidden), name="ranking"
    )


FEATURES = {"user": ids_of(20), "movies": ids_of((20, 3), seed=1)}


def assert_predicts_the_same(clone, model, inputs):
    np.testing.assert_array_equal(
        clone.predict(inputs, verbose=0), model.predict(inputs, verbose=0)
    )


def test_a_functional_model_predicts_the_same_from_rows_of_the_cluster(
    convert, table, cluster
):
    model = functional_model()
    model.compile("sgd", "mse")
    clone, report = convert(model)
    assert_predicts_the_same(clone, model, FEATURES)
    assert isinstance(clone.get_layer("user_rows"), ptf.layers.PersiaEmbedding)
    rows = ptf.Table(f"{table}/user_rows", cluster=cluster)
    assert len(rows) == ROWS
    np.testing.assert_array_equal(
        rows.lookup(np.arange(ROWS)), model.get_layer("user_rows").get_weights()[0]
    )
    assert {layer.path for layer in report.converted} == {"user_rows", "movie_rows"}
    assert [layer.path for layer in report.left] == ["small"]


def test_it_trains_as_the_model_does_with_sgd(convert):
    model = functional_model()
    model.compile(keras.optimizers.SGD(0.3), "mse")
    clone, _ = convert(model)
    clone.compile(keras.optimizers.SGD(0.3), "mse")
    labels = np.random.default_rng(2).normal(size=(20, 1)).astype("float32")
    before = model.predict(FEATURES, verbose=0)
    for trained in (model, clone):
        for _ in range(10):
            trained.train_on_batch(FEATURES, labels)
            ptf.flush()
    after = model.predict(FEATURES, verbose=0)
    np.testing.assert_allclose(clone.predict(FEATURES, verbose=0), after, atol=1e-5)
    assert np.abs(after - before).max() > 0.1


def test_the_model_stays_as_it_is(convert_embedded):
    model = functional_model()
    model.compile("sgd", "mse")
    before = model.predict(FEATURES, verbose=0)
    clone, _ = convert_embedded(model)
    clone.compile(keras.optimizers.SGD(1.0), "mse")
    clone.fit(FEATURES, np.ones((20, 1)), verbose=0)
    np.testing.assert_array_equal(model.predict(FEATURES, verbose=0), before)
    assert isinstance(model.get_layer("user_rows"), layers.Embedding)


def test_names_inputs_and_structures_stay(convert_embedded):
    model = functional_model()
    clone, _ = convert_embedded(model)
    assert clone.name == "ranking"
    assert [each.name for each in clone.layers] == [each.name for each in model.layers]
    assert [tuple(t.shape) for t in clone.inputs] == [
        tuple(t.shape) for t in model.inputs
    ]


@pytest.mark.parametrize("with_input", [True, False])
def test_sequential_models(with_input, convert):
    first = [keras.Input((3,))] if with_input else []
    rows = layers.Embedding(ROWS, DIM, name="rows")
    model = keras.Sequential([*first, rows, layers.GlobalMaxPooling1D()])
    ids = ids_of((6, 3))
    model(ids)
    clone, report = convert(model)
    assert_predicts_the_same(clone, model, ids)
    # Keras assumes float32 for the ids; the clone takes integers.
    assert tf.as_dtype(clone.inputs[0].dtype).is_integer
    assert len(report.converted) == 1


def nested_model():
    """A tower that is called twice, which shares a layer with the model around it."""
    shared = layers.Embedding(ROWS, DIM, name="shared")
    inner_ids = keras.Input((2,), name="inner_ids")
    own = layers.Embedding(ROWS, DIM, name="shared_name")(inner_ids)
    inner = keras.Model(inner_ids, layers.Add()([own, shared(inner_ids)]), name="tower")
    sequence = keras.Sequential(
        [keras.Input((2,)), layers.Embedding(ROWS, DIM, name="shared_name")],
        name="sequence",
    )
    left, right = keras.Input((2,)), keras.Input((2,))
    parts = [inner(left), inner(right), shared(left), sequence(right)]
    return keras.Model([left, right], layers.Dense(1)(layers.Concatenate()(parts)))


def test_nested_models_and_shared_layers(convert, table, cluster):
    model = nested_model()
    clone, report = convert(model)
    assert_predicts_the_same(clone, model, [ids_of((5, 2)), ids_of((5, 2), seed=1)])
    paths = {layer.path for layer in report.converted}
    assert len(report.converted) == 3
    assert {"tower/shared_name", "sequence/shared_name"} < paths
    assert clone.get_layer("tower").get_layer("shared") is clone.get_layer("shared")
    assert len(ptf.Table(f"{table}/tower/shared_name", cluster=cluster)) == ROWS


def test_trainable_flags_stay(convert_embedded):
    model = nested_model()
    model.get_layer("tower").trainable = False
    clone, _ = convert_embedded(model)
    assert not clone.get_layer("tower").trainable
    assert not clone.get_layer("tower").get_layer("shared_name").trainable
    assert clone.get_layer("sequence").trainable
    assert len(clone.trainable_variables) == len(model.trainable_variables)


def test_a_mask_reaches_the_layers_behind(convert_embedded):
    ids = keras.Input((4,), dtype="int32")
    vectors = layers.Embedding(ROWS, DIM, mask_zero=True)(ids)
    model = keras.Model(ids, layers.GRU(3)(vectors))
    clone, _ = convert_embedded(model)
    assert_predicts_the_same(clone, model, np.array([[1, 2, 0, 0], [3, 4, 5, 0]]))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16"])
def test_dtype_policies_stay(policy, convert_embedded):
    ids = keras.Input((), dtype="int64")
    rows = layers.Embedding(ROWS, DIM, dtype=policy)(ids)
    model = keras.Model(ids, rows)
    clone, _ = convert_embedded(model)
    assert clone.layers[1].compute_dtype == model.layers[1].compute_dtype
    assert clone.layers[1].row_dtype == model.layers[1].variable_dtype
    assert_predicts_the_same(clone, model, ids_of(7))


def test_inputs_of_default_dtype_become_integers(convert_embedded):
    model = functional_model(dtype=None)
    clone, _ = convert_embedded(model)
    dtypes = {tensor.name.split(":")[0]: tensor.dtype for tensor in clone.inputs}
    # An embedding that is not converted takes the user too.
    assert tf.as_dtype(dtypes["movies"]) == tf.int64
    assert tf.as_dtype(dtypes["user"]) == tf.float32
    assert type(clone.get_layer("movie_rows")) is ptf.layers.PersiaEmbedding
    assert type(clone.get_layer("user_rows")) is CastingPersiaEmbedding
    assert_predicts_the_same(clone, model, FEATURES)


def test_inputs_of_ids_alone_survive_beyond_what_floats_hold(convert_embedded, table):
    ids = keras.Input(())
    model = keras.Model(ids, layers.Embedding(ROWS, 2, name="rows")(ids))
    clone, _ = convert_embedded(model)
    large = np.array([2**53, 2**53 + 1])
    ptf.Table(f"{table}/rows").assign(large, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(clone.predict(large, verbose=0), [[1, 2], [3, 4]])


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_ids_that_are_computed_as_floats(dtype, convert, table):
    features = keras.Input((3,))
    rows = layers.Embedding(4000, DIM, name="rows", dtype=dtype, mask_zero=True)
    numbers = layers.Dense(DIM)(features)
    model = keras.Model(features, layers.Add()([rows(features[:, 0]), numbers]))
    clone, _ = convert(model)
    inputs = np.array([[3999.0, 1, 2], [2049.0, 3, 4], [0.0, 0, 1]], "float32")
    assert_predicts_the_same(clone, model, inputs)


def test_floats_that_go_to_a_nested_model_of_ids(convert_embedded):
    ids = keras.Input((2,), name="ids")
    tower = keras.Model(ids, layers.Embedding(ROWS, DIM, name="rows")(ids))
    features = keras.Input((3,))
    numbers = layers.Dense(DIM)(features[:, 2:])
    model = keras.Model(features, [tower(features[:, :2]), numbers])
    clone, _ = convert_embedded(model)
    inputs = np.array([[49.0, 1, 0.5], [7.0, 0, 1.5]], "float32")
    for ours, keras_own in zip(clone.predict(inputs), model.predict(inputs)):
        np.testing.assert_array_equal(ours, keras_own)


def test_a_model_that_casts_ids_can_be_cloned(convert_embedded):
    features = keras.Input((2,))
    rows = layers.Embedding(ROWS, DIM, name="rows")(features[:, 0])
    model = keras.Model(features, rows)
    clone, _ = convert_embedded(model)
    again = keras.models.clone_model(clone)
    assert type(again.get_layer("rows")) is CastingPersiaEmbedding
    inputs = np.array([[7.0, 0.5]])
    assert_predicts_the_same(again, model, inputs)


def test_vocabularies_and_statistics_are_copied(convert_embedded):
    words = np.array(["a", "b", "c"])
    lookup = layers.StringLookup(name="lookup")
    lookup.adapt(words)
    normalize = layers.Normalization(axis=None)
    normalize.adapt(np.array([1.0, 5.0, 9.0]))
    text, number = keras.Input((), dtype="string"), keras.Input((1,))
    rows = layers.Embedding(ROWS, DIM, name="rows")(lookup(text))
    joined = layers.Concatenate()([rows, normalize(number)])
    model = keras.Model([text, number], layers.Dense(1)(joined))
    clone, _ = convert_embedded(model)
    inputs = [tf.constant(["c", "a", "z"]), tf.constant([[5.0], [2.0], [9.0]])]
    np.testing.assert_array_equal(clone(inputs), model(inputs))
    assert type(clone.get_layer("rows")) is ptf.layers.PersiaEmbedding


def test_lambdas_stay_as_they_are(convert_embedded):
    ids = keras.Input((3,), dtype="int64")
    vectors = layers.Embedding(ROWS, DIM)(ids)
    total = layers.Lambda(lambda x: tf.reduce_sum(x, 1), output_shape=(DIM,))(vectors)
    model = keras.Model(ids, layers.Dense(2)(total * 2.0))
    clone, _ = convert_embedded(model)
    assert_predicts_the_same(clone, model, ids_of((4, 3)))


def test_a_loss_of_the_users_own_does_not_matter(convert_embedded):
    model = functional_model()
    model.compile("adam", loss=lambda y, p: tf.reduce_mean(tf.abs(y - p)))
    clone, report = convert_embedded(model)
    assert report.optimizer is None
    assert "stepped as the model is" in str(report)
    assert getattr(clone, "optimizer", None) is None


def test_models_of_a_strategy(convert):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model = functional_model()
        clone, _ = convert(model)
        clone.compile("sgd", "mse")
    assert_predicts_the_same(clone, model, FEATURES)
    clone.fit(FEATURES, np.ones((20, 1)), verbose=0)


def test_the_clone_can_be_prefetched(convert):
    model = functional_model()
    model.compile("sgd", "mse")
    clone, _ = convert(model)
    clone.compile("sgd", "mse")
    batches = tf.data.Dataset.from_tensor_slices((FEATURES, np.ones((20, 1)))).batch(5)
    clone.fit(ptf.data.prefetch(batches, clone), verbose=0)


def test_a_table_of_other_rows_is_not_overwritten(convert, table, cluster):
    first, second = functional_model(), functional_model()
    convert(first)
    with pytest.raises(ValueError, match=r"already holds rows.*table_prefix"):
        convert(second)
    rows = ptf.Table(f"{table}/user_rows", cluster=cluster).lookup(np.arange(ROWS))
    np.testing.assert_array_equal(rows, first.get_layer("user_rows").get_weights()[0])


def test_workers_may_all_convert_the_same_model(convert):
    model = functional_model()
    for _ in range(2):
        clone, _ = convert(model)
        assert_predicts_the_same(clone, model, FEATURES)


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.rows = layers.Embedding(ROWS, DIM)

    def call(self, ids):
        return self.rows(ids)


def test_a_subclassed_model_is_refused_with_what_to_do(convert_embedded):
    with pytest.raises(ValueError, match=r"PersiaEmbedding.*assign.*Subclassed"):
        convert_embedded(Subclassed())


def test_a_model_that_is_not_built_is_refused(convert_embedded):
    model = keras.Sequential([layers.Embedding(ROWS, DIM), layers.ReLU()])
    if not IS_KERAS_3:  # There the layer itself has the dtype of its input.
        model = keras.Sequential([layers.ReLU(), layers.Embedding(ROWS, DIM)])
    with pytest.raises(ValueError, match="must be built"):
        convert_embedded(model)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"min_rows": 0}, ValueError), ({"min_rows": 1.5}, TypeError)],
)
def test_wrong_arguments_are_refused(options, error, convert_embedded):
    with pytest.raises(error, match="min_rows"):
        convert_embedded(functional_model(), **options)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="`model`"):
        ptf.convert(layers.Dense(1))


class Unclonable(layers.Layer):
    def __init__(self, function):
        super().__init__(name="unclonable")
        self.function = function

    def call(self, inputs):
        return self.function(inputs)


def test_a_layer_that_cannot_be_cloned_is_named(convert_embedded):
    ids = keras.Input((), dtype="int64")
    rows = layers.Embedding(ROWS, DIM)(ids)
    model = keras.Model(ids, Unclonable(tf.abs)(rows))
    with pytest.raises(ValueError, match="layer 'unclonable'.*get_config"):
        convert_embedded(model)


class Growing(layers.Layer):
    """Has one layer more than an instance that is made from its config."""

    def __init__(self, **options):
        super().__init__(**options)
        self.first = layers.Dense(2)

    def call(self, inputs):
        return self.first(inputs)


def test_a_layer_whose_copy_has_fewer_layers_is_named(convert_embedded):
    ids = keras.Input((), dtype="int64")
    grown = Growing(name="grown")
    grown.second = layers.ReLU()
    model = keras.Model(ids, grown(layers.Embedding(ROWS, DIM)(ids)))
    with pytest.raises(ValueError, match=r"layer 'grown'.*'ReLU'\], and in the copy"):
        convert_embedded(model)


def test_rows_that_the_model_already_has_in_a_table_stay(convert, table, cluster):
    # A file could not hold the rows. To read them and write them back would undo what
    # other programs push meanwhile.
    cluster.archive_limit = 1
    ids = keras.Input((), dtype="int64")
    vectors = [
        ptf.layers.PersiaEmbedding(DIM, table=table, cluster=cluster)(ids),
        layers.Embedding(ROWS, DIM)(ids),
    ]
    model = keras.Model(ids, layers.Dense(1)(layers.Add()(vectors)))
    model.compile("sgd", "mse")
    model.fit(ids_of(20), np.ones((20, 1)), verbose=0)
    ptf.flush()
    writes = cluster.session.writes
    clone, _ = convert(model, min_rows=ROWS + 1)
    assert cluster.session.writes == writes
    assert_predicts_the_same(clone, model, ids_of(20))
