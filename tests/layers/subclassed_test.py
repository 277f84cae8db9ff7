"""Subclassed models, which Keras restores by calling them with placeholders."""

import itertools
import json
import zipfile

import numpy as np
import pytest
import tensorflow as tf
from training import assert_same_rows

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

RNG = np.random.default_rng(0)
USERS = tf.constant(RNG.integers(-(2**60), 2**60, (32, 2)))
ITEMS = tf.constant(RNG.integers(0, 50, (32, 2)))
WORDS = tf.constant(RNG.choice(["red", "green", "blue"], (32, 2)))
PRICES = tf.constant(RNG.normal(size=(32, 3)), tf.float32)
LABELS = tf.constant(RNG.integers(0, 2, (32, 1)), tf.float32)

register = keras.saving.register_keras_serializable(package="subclassed_test")


class Model(keras.Model):
    """The base class of the models below: a head, and a table per layer name."""

    options = {"combiner": "sum", "optimizer": "adam"}

    def __init__(self, table, **options):
        super().__init__(**options)
        self.table = table
        self.norm = keras.layers.BatchNormalization()
        self.head = keras.layers.Dense(1, "sigmoid")

    def embed(self, name):
        return ptf.layers.PersiaEmbedding(
            4, table=f"{self.table}/{name}", **self.options
        )

    def score(self, *vectors, training):
        together = tf.concat(vectors, axis=-1)
        return self.head(self.norm(together, training=training))

    def get_config(self):
        return {**super().get_config(), "table": self.table}


@register
class OfTensor(Model):
    data = USERS

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.user = self.embed("user")

    def call(self, users, training=None):
        return self.score(self.user(users), training=training)


@register
class OfDict(Model):
    data = {"user": USERS, "item": ITEMS, "word": WORDS, "price": PRICES}

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.of = {name: self.embed(name) for name in ("user", "item", "word")}

    def call(self, features, training=None):
        vectors = [layer(features[name]) for name, layer in self.of.items()]
        return self.score(*vectors, features["price"], training=training)


@register
class OfTuple(Model):
    data = (USERS, WORDS)

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.layer_of = [self.embed("user"), self.embed("word")]

    def call(self, features, training=None):
        vectors = [layer(ids) for layer, ids in zip(self.layer_of, features)]
        return self.score(*vectors, training=training)


@register
class Nested(Model):
    data = OfDict.data

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.inner = OfDict(f"{table}/inner")
        self.item = self.embed("item")

    def call(self, features, training=None):
        inner = self.inner(features, training=training)
        return self.score(inner, self.item(features["item"]), training=training)


@register
class OfLookups(Model):
    """Layers of Keras before ours, one in a Sequential model without an Input."""

    data = {"word": WORDS, "item": ITEMS, "user": USERS}

    def __init__(self, table, **options):
        super().__init__(table, **options)
        words = keras.layers.StringLookup(vocabulary=["red", "green"])
        self.word = keras.Sequential([words, self.embed("word")])
        self.known = keras.layers.IntegerLookup(vocabulary=list(range(40)))
        self.item = self.embed("item")
        self.bins = keras.layers.Hashing(100)
        self.user = self.embed("user")

    def call(self, features, training=None):
        return self.score(
            self.word(features["word"]),
            self.item(self.known(features["item"])),
            self.user(self.bins(features["user"])),
            training=training,
        )


@register
class OfCrosses(Model):
    """Ids are computed by ops that take no floats."""

    data = {"word": WORDS, "user": USERS}

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.cross = self.embed("cross")
        self.low = self.embed("low")

    def call(self, features, training=None):
        users = tf.strings.as_string(features["user"])
        crossed = tf.strings.join([features["word"], users], separator="_X_")
        low = tf.bitwise.bitwise_and(features["user"], tf.constant(255, tf.int64))
        return self.score(self.cross(crossed), self.low(low), training=training)


@register
class Bags(keras.layers.Layer):
    """A layer that contains one of ours."""

    def __init__(self, table, **options):
        super().__init__(**options)
        self.table = table
        self.rows = ptf.layers.PersiaEmbedding(4, table=table, combiner="mean")
        self.dense = keras.layers.Dense(3)

    def call(self, ids):
        return self.dense(self.rows(ids))

    def get_config(self):
        return {**super().get_config(), "table": self.table}


@register
class OfLayers(Model):
    data = USERS

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.bags = [Bags(f"{table}/a"), Bags(f"{table}/b")]

    def call(self, ids, training=None):
        return self.score(*(bags(ids) for bags in self.bags), training=training)


def functional(table):
    """A functional model that contains a subclassed one."""
    inputs = keras.Input((2,), dtype="int64")
    return keras.Model(inputs, keras.layers.Dense(1)(OfTensor(table)(inputs)))


functional.data = USERS

WHERE = ("embedded", "2 shards")


@pytest.fixture
def where():
    return "2 shards"


@pytest.fixture
def use_new_shards(where, start_shards, monkeypatch):
    """Makes new shards the environment's, or empties the embedded store."""

    def use(model=None):
        if where == "2 shards":
            shards = ",".join(shard.address for shard in start_shards(2))
            monkeypatch.setenv("PERSIA_PS", shards)
        elif model is not None:
            for table in tables_of(model):
                for batch in table.export():
                    table.remove(batch.ids)

    use()
    return use


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "m.keras")


def tables_of(model):
    layers = (
        layer
        for layer in model._flatten_layers()
        if isinstance(layer, ptf.layers.PersiaEmbedding)
    )
    return [layer.rows for layer in layers]


def rows_of(model):
    rows = {}
    for table in tables_of(model):
        for batch in table.export():
            for row_id, row, state in zip(batch.ids, batch.rows, batch.state):
                rows[table.name, int(row_id)] = np.concatenate([row, state])
    return rows


def batches_of(kind):
    return tf.data.Dataset.from_tensor_slices((kind.data, LABELS)).batch(8)


def train(model, kind, epochs=1):
    model.fit(batches_of(kind), epochs=epochs, verbose=0)
    return model


def trained(kind, table):
    model = kind(table)
    model.compile("adam", "binary_crossentropy")
    return train(model, kind)


def predict(model, kind):
    return model.predict(batches_of(kind), verbose=0)


@pytest.mark.filterwarnings("error::UserWarning:.*build")
@pytest.mark.parametrize(
    ("where", "kind"),
    [
        *itertools.product(WHERE, (OfTensor, OfDict, OfTuple)),
        *itertools.product(
            WHERE[:1], (Nested, OfLookups, OfCrosses, OfLayers, functional)
        ),
    ],
)
def test_a_loaded_model_is_the_one_that_was_saved(kind, use_new_shards, table, file):
    model = trained(kind, table)
    scores, rows = predict(model, kind), rows_of(model)
    assert len(rows) > 3
    model.save(file)
    steps = model.optimizer.iterations.numpy()
    state = [each.numpy() for each in model.optimizer.variables]
    use_new_shards(model)
    loaded = keras.models.load_model(file)
    assert_same_rows(rows_of(loaded), rows)
    np.testing.assert_allclose(predict(loaded, kind), scores, atol=1e-6)
    assert loaded.optimizer.iterations.numpy() == steps
    for one, other in zip(loaded.optimizer.variables, state):
        np.testing.assert_allclose(one.numpy(), other, atol=1e-7)


def test_a_loaded_model_can_be_saved_and_loaded_again(use_new_shards, table, file):
    model = trained(OfDict, table)
    model.save(file)
    use_new_shards(model)
    again = train(keras.models.load_model(file), OfDict)
    again.save(file)
    scores = predict(again, OfDict)
    use_new_shards(again)
    loaded = keras.models.load_model(file)
    np.testing.assert_allclose(predict(loaded, OfDict), scores, atol=1e-6)


def test_ragged_and_sparse_inputs_are_made_again_as_such(table, file):
    class OfBoth(Model):
        def __init__(self, table, **options):
            super().__init__(table, **options)
            self.ragged, self.sparse = self.embed("ragged"), self.embed("sparse")

        def call(self, features, training=None):
            ragged, sparse = features
            counts = tf.cast(ragged.row_lengths(), tf.float32)[:, tf.newaxis]
            vectors = self.ragged(ragged), self.sparse(sparse)
            return self.score(*vectors, counts, training=training)

    features = tf.ragged.constant([[1], [2, 3]], tf.int64), tf.sparse.from_dense(ITEMS)
    features = features[0], tf.sparse.slice(features[1], [0, 0], [2, 2])
    model = OfBoth(table)
    scores = model(features)
    model.save(file)
    loaded = keras.models.load_model(file, custom_objects={"OfBoth": OfBoth})
    np.testing.assert_allclose(loaded(features), scores, atol=1e-6)


def test_a_class_that_is_not_registered_is_found_among_custom_objects(
    use_new_shards, table, file
):
    class Unregistered(OfTensor):
        pass

    model = trained(Unregistered, table)
    scores = predict(model, OfTensor)
    model.save(file)
    use_new_shards(model)
    known = {"Unregistered": Unregistered}
    loaded = keras.models.load_model(file, custom_objects=known)
    np.testing.assert_allclose(predict(loaded, OfTensor), scores, atol=1e-6)


def test_weights_are_loaded_by_a_fresh_model_that_was_called(
    use_new_shards, table, tmp_path
):
    path = str(tmp_path / "m.weights.h5")
    model = trained(OfDict, table)
    scores, rows = predict(model, OfDict), rows_of(model)
    model.save_weights(path)
    use_new_shards(model)
    fresh = OfDict(table)
    fresh.compile("adam", "binary_crossentropy")
    predict(fresh, OfDict)
    fresh.load_weights(path)
    assert_same_rows(rows_of(fresh), rows)
    np.testing.assert_allclose(predict(fresh, OfDict), scores, atol=1e-6)


@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 builds no model for its shape")
def test_weights_are_loaded_by_a_model_that_was_built_for_its_shape(table, tmp_path):
    path = str(tmp_path / "m.weights.h5")
    model = trained(OfTensor, table)
    scores = predict(model, OfTensor)
    model.save_weights(path)
    fresh = OfTensor(table)
    fresh.build((None, 2))
    fresh.load_weights(path)
    np.testing.assert_allclose(predict(fresh, OfTensor), scores, atol=1e-6)


def test_weights_are_not_loaded_by_a_model_that_is_not_built(table, tmp_path):
    path = str(tmp_path / "m.weights.h5")
    model = trained(OfTensor, table)
    model.save_weights(path)
    with pytest.raises(ValueError, match="yet been built|Call the model on a batch"):
        OfTensor(table).load_weights(path)


class Stop(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt


def test_a_fit_that_was_backed_up_goes_on(use_new_shards, table, tmp_path):
    def fit(epochs, *callbacks):
        keras.utils.set_random_seed(1)
        model = OfDict(table)
        model.compile("adam", "binary_crossentropy")
        predict(model, OfDict)
        backup = keras.callbacks.BackupAndRestore(str(tmp_path / "backup"))
        ran = model.fit(
            batches_of(OfDict),
            epochs=epochs,
            verbose=0,
            callbacks=[backup, *callbacks],
        )
        return model, len(ran.history["loss"])

    whole, _ = fit(4)
    expected = predict(whole, OfDict)
    use_new_shards(whole)
    with pytest.raises(KeyboardInterrupt):
        fit(4, Stop())
    use_new_shards(whole)
    model, epochs = fit(4)
    assert epochs == 2
    np.testing.assert_allclose(predict(model, OfDict), expected, atol=1e-4)


# ---- Files with less information.


def without_our_part(file):
    """Removes from a file what models were called with."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(parts["config.json"])
    del config["build_config"]["persia_tf"]
    parts["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_placeholders_are_taken_under_mixed_precision(table, file):
    before = keras.mixed_precision.global_policy()
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = OfTuple(table)
        scores = model(OfTuple.data)
        model.save(file)
        without_our_part(file)
        loaded = keras.models.load_model(file)
    finally:
        keras.mixed_precision.set_global_policy(before)
    np.testing.assert_allclose(loaded(OfTuple.data), scores, atol=1e-3)


@pytest.mark.parametrize("kind", [OfTensor, OfTuple])
def test_a_file_that_tells_shapes_alone_is_loaded(kind, use_new_shards, table, file):
    model = trained(kind, table)
    scores = predict(model, kind)
    model.save(file)
    without_our_part(file)
    use_new_shards(model)
    loaded = keras.models.load_model(file)
    np.testing.assert_allclose(predict(loaded, kind), scores, atol=1e-6)


def test_a_model_that_cannot_be_called_by_shape_alone_is_refused(table, file):
    model = trained(OfCrosses, table)
    model.save(file)
    without_our_part(file)
    rows = rows_of(train(model, OfCrosses))
    with pytest.raises(ValueError, match="`load_weights`|on real tensor data"):
        keras.models.load_model(file)
    assert_same_rows(rows_of(model), rows)


# ---- Models of which a part has no place.


@register
class Fails(OfTensor):
    fails = False

    def call(self, users, training=None):
        if Fails.fails:
            raise RuntimeError("there is no file of weather")
        return super().call(users, training=training)


def test_a_model_whose_call_fails_is_refused_and_says_why(table, file, monkeypatch):
    model = trained(Fails, table)
    model.save(file)
    rows = rows_of(train(model, Fails))
    with monkeypatch.context() as patched:
        patched.setattr(Fails, "fails", True)
        with pytest.raises(ValueError) as raised:
            keras.models.load_model(file)
    said = str(raised.value)
    assert "call it on a batch, and then call `load_weights` on the same file" in said
    assert "'head'" in said or "'dense" in said
    assert "there is no file of weather" in said
    assert_same_rows(rows_of(model), rows)


def test_what_the_error_says_to_do_brings_everything_back(table, file, monkeypatch):
    model = trained(Fails, table)
    scores = predict(model, Fails)
    model.save(file)
    train(model, Fails)
    fresh = Fails(table)
    predict(fresh, Fails)
    fresh.load_weights(file)
    np.testing.assert_allclose(predict(fresh, Fails), scores, atol=1e-6)


@register
class WithSideTable(OfTensor):
    """Has a table that its `call` does not use."""

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.side = self.embed("side")

    def aside(self, ids):
        return self.side(ids, training=True)


@register
class WithSideTower(WithSideTable):
    """Also has weights that its `call` does not use."""

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.tower = keras.layers.Dense(2)

    def aside(self, ids):
        return self.tower(super().aside(ids))


def test_a_table_that_no_call_reaches_is_loaded(use_new_shards, table, file):
    model = trained(WithSideTable, table)
    model.aside(ITEMS)
    rows = rows_of(model)
    assert any(name.endswith("/side") for name, _ in rows)
    model.save(file)
    use_new_shards(model)
    loaded = keras.models.load_model(file)
    assert_same_rows(rows_of(loaded), rows)


def test_weights_that_no_call_reaches_are_not_left_out_in_silence(table, file):
    model = trained(WithSideTower, table)
    model.aside(ITEMS)
    model.save(file)
    rows = rows_of(train(model, WithSideTower))
    with pytest.raises(ValueError, match="only 6 of its 8 dense weights"):
        keras.models.load_model(file)
    assert_same_rows(rows_of(model), rows)


def test_an_error_of_rows_is_not_hidden_by_what_keras_tries_next(
    table, tmp_path, monkeypatch
):
    path = str(tmp_path / "m.weights.h5")
    trained(OfTensor, table).save_weights(path)
    stack = ptf.compression.HashStack(buckets=50)
    monkeypatch.setitem(Model.options, "compression", stack)
    other = OfTensor(f"{table}/other")
    other(USERS)
    with pytest.raises(ValueError, match="the same `compression`"):
        other.load_weights(path)


# ---- Floats that are not placeholders.


def test_floats_of_a_user_are_refused_by_a_model_that_was_loaded(table, file):
    model = trained(OfTensor, table)
    model.save(file)
    for each in (model, keras.models.load_model(file)):
        with pytest.raises(Exception, match="takes integers or strings as ids"):
            each(tf.cast(USERS, tf.float32))
        with pytest.raises(Exception, match="takes integers or strings as ids"):
            each.predict(tf.cast(USERS, tf.float32), verbose=0)


def test_an_input_of_floats_is_refused(table):
    inputs = keras.Input((2,))
    with pytest.raises(Exception, match="takes integers or strings as ids"):
        OfTensor(table)(inputs)


def test_other_models_are_filed_as_ever(file):
    @register
    class Plain(keras.Model):
        def __init__(self, **options):
            super().__init__(**options)
            self.head = keras.layers.Dense(1)

        def call(self, inputs):
            return self.head(inputs)

    model = Plain()
    scores = model(PRICES)
    model.save(file)
    with zipfile.ZipFile(file) as archive:
        assert "persia_tf" not in archive.read("config.json").decode()
    np.testing.assert_allclose(keras.models.load_model(file)(PRICES), scores, atol=1e-6)
