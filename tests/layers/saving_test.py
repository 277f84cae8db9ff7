"""What Keras saves of a model includes its rows, and loading restores them."""

import copy
import pickle
import time

import numpy as np
import pytest
import tensorflow as tf
from training import assert_same_rows

import persia_tf as ptf
from persia_tf import optimizers
from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.layers.workers import Workers

IDS = np.random.default_rng(0).integers(-1000, 1000, (64, 3))
LABELS = (IDS.sum(axis=1, keepdims=True) > 0).astype("float32")


def make_model(table, cluster, optimizer="adam", dim=4, **options):
    keras.utils.set_random_seed(1)
    layer = ptf.layers.PersiaEmbedding(
        *(dim,), table=table, cluster=cluster, optimizer=optimizer, **options
    )
    inputs = keras.Input((3,), dtype="int64")
    vectors = keras.layers.Flatten()(layer(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(vectors))
    model.compile("adam", "binary_crossentropy")
    return model


def train(model, epochs=1, **options):
    model.fit(
        IDS, LABELS, batch_size=16, shuffle=False, epochs=epochs, verbose=0, **options
    )
    return model


def whole_file(model, path):
    path = str(path / "m.keras")
    model.save(path)

    def load(cluster):
        with ptf.use_cluster(cluster):
            return keras.models.load_model(path)

    return load


def weights_file(model, path):
    path = str(path / "m.weights.h5")
    model.save_weights(path)

    def load(cluster):
        with ptf.use_cluster(cluster):
            loaded = keras.models.clone_model(model)
        loaded.compile("adam", "binary_crossentropy")
        loaded.predict(IDS, verbose=0)
        loaded.load_weights(path)
        return loaded

    return load


@pytest.fixture(params=[whole_file, weights_file])
def save(request):
    """Saves a model below a folder; gives a function that loads it onto a cluster."""
    return request.param


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "m.keras")


def test_rows_and_their_state_are_loaded_onto_other_shards(
    save, table, cluster, other_shards, tmp_path, rows_of
):
    model = train(make_model(table, cluster))
    load = save(model, tmp_path)
    expected = rows_of(table, cluster)
    assert len(expected) > 100
    loaded = load(other_shards)
    assert_same_rows(rows_of(table, other_shards), expected)
    scores = model.predict(IDS, verbose=0)
    np.testing.assert_allclose(loaded.predict(IDS, verbose=0), scores, atol=1e-6)


def test_training_goes_on_as_if_nothing_had_been(
    table, shards, other_shards, file, rows_of
):
    model = train(make_model(table, shards))
    model.save(file)
    train(model, epochs=2)
    with ptf.use_cluster(other_shards):
        again = keras.models.load_model(file)
    train(again, epochs=2)
    assert_same_rows(rows_of(table, other_shards), rows_of(table, shards))
    for one, other in zip(model.get_weights(), again.get_weights()):
        np.testing.assert_array_equal(one, other)


def test_rows_that_were_not_saved_are_removed(table, shards, file, rows_of, caplog):
    model = train(make_model(table, shards))
    model.save(file)
    expected = rows_of(table, shards)
    ptf.Table(table, shards).assign([5000, 5001], np.ones((2, 4)))
    train(model)
    with caplog.at_level("WARNING", logger="absl"):
        keras.models.load_model(file)
    assert_same_rows(rows_of(table, shards), expected)
    count = len(expected)
    said = f"held {count + 2} rows, which the {count} saved rows replaced"
    assert said in caplog.text
    assert "2 rows that were not saved were removed" in caplog.text


def test_a_load_that_changes_no_row_tells_of_nothing(table, shards, tmp_path, caplog):
    model = train(make_model(table, shards))
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    with caplog.at_level("WARNING", logger="absl"):
        keras.models.load_model(tmp_path / "model.keras")
        model.load_weights(tmp_path / "model.weights.h5")
    assert caplog.text == ""


def test_a_load_that_changes_rows_tells_how_many(table, shards, file, caplog):
    model = train(make_model(table, shards))
    model.save(file)
    rows = ptf.Table(table, shards)
    some = next(iter(rows.export())).ids[:3]
    rows.assign(some, np.ones((3, 4)))
    with caplog.at_level("WARNING", logger="absl"):
        keras.models.load_model(file)
    assert "3 of these were new or had other vectors, and 0 rows" in caplog.text


def test_more_rows_than_a_batch_are_loaded(table, shards, file, rows_of, monkeypatch):
    model = make_model(table, shards)
    rows = ptf.Table(table, shards)
    values = np.random.default_rng(1).normal(size=(5000, 4))
    rows.assign(np.arange(5000), values)
    export = ptf.Table.export
    monkeypatch.setattr(
        ptf.Table, "export", lambda self, batch_size=100: export(self, batch_size)
    )
    model.save(file)
    expected = rows_of(table, shards)
    rows.remove(np.arange(100, 5000))
    rows.assign(np.arange(5000, 9000), values[:4000])
    keras.models.load_model(file)
    assert_same_rows(rows_of(table, shards), expected)


def test_layers_that_share_a_table_load_it_as_it_was(
    table, shards, other_shards, file, rows_of
):
    inputs = keras.Input((3,), dtype="int64")
    options = {"table": table, "cluster": shards, "combiner": "sum"}
    pooled = [ptf.layers.PersiaEmbedding(4, **options)(inputs) for _ in range(2)]
    total = keras.layers.Add()(pooled)
    model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(total))
    model.compile("adam", "binary_crossentropy")
    train(model).save(file)
    with ptf.use_cluster(other_shards):
        keras.models.load_model(file)
    assert_same_rows(rows_of(table, other_shards), rows_of(table, shards))


@pytest.mark.parametrize("row_dtype", ["bfloat16", "int8"])
def test_rows_are_loaded_as_exactly_as_they_are_held(
    row_dtype, table, shards, other_shards, file, rows_of
):
    train(make_model(table, shards, row_dtype=row_dtype)).save(file)
    with ptf.use_cluster(other_shards):
        keras.models.load_model(file)
    assert_same_rows(rows_of(table, other_shards), rows_of(table, shards))


def test_an_empty_table_is_loaded_as_such(table, shards, file, rows_of):
    model = make_model(table, shards)
    model.save(file)
    train(model)
    keras.models.load_model(file)
    assert rows_of(table, shards) == {}


def test_a_table_whose_rows_have_all_had_their_time_is_saved_as_empty(
    table, shards, file, rows_of
):
    lifetime = ptf.eviction.TTL(seconds=1)
    model = train(make_model(table, shards, eviction=lifetime))
    deadline = time.monotonic() + 60
    while rows_of(table, shards):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert len(ptf.Table(table, shards)) > 0
    model.save(file)
    train(model)
    keras.models.load_model(file)
    assert rows_of(table, shards) == {}


# ---- Tables that differ.


def test_with_another_optimizer_rows_stay_and_state_begins_anew(
    table, shards, other_shards, tmp_path, rows_of, caplog
):
    path = str(tmp_path / "m.weights.h5")
    train(make_model(table, shards, "adam")).save_weights(path)
    other = make_model(table, other_shards, "adagrad")
    with caplog.at_level("WARNING", logger="absl"):
        other.load_weights(path)
    assert "state of its rows starts over" in caplog.text
    expected = rows_of(table, shards)
    for row_id, row in rows_of(table, other_shards).items():
        np.testing.assert_array_equal(row[:4], expected[row_id][:4])
        np.testing.assert_array_equal(row[4:], np.full(4, np.float32(0.1)))


@pytest.mark.parametrize(
    ("saved", "loading", "begins_anew"),
    [
        (optimizers.SGD(momentum=0.9), optimizers.SGD(), True),
        (optimizers.SGD(), optimizers.SGD(momentum=0.9), True),
        (optimizers.Adam(), optimizers.Adam(amsgrad=True), True),
        (optimizers.RMSprop(momentum=0.9), optimizers.RMSprop(centered=True), True),
        (optimizers.SGD(momentum=0.9), optimizers.SGD(momentum=0.5), False),
    ],
)
def test_state_of_another_kind_begins_anew(
    saved, loading, begins_anew, table, shards, other_shards, tmp_path, rows_of, caplog
):
    path = str(tmp_path / "m.weights.h5")
    train(make_model(table, shards, saved)).save_weights(path)
    other = make_model(table, other_shards, loading)
    with caplog.at_level("WARNING", logger="absl"):
        other.load_weights(path)
    assert ("state of its rows starts over" in caplog.text) == begins_anew
    expected, found = rows_of(table, shards), rows_of(table, other_shards)
    assert found.keys() == expected.keys()
    for row_id, row in expected.items():
        np.testing.assert_array_equal(found[row_id][:4], row[:4])
        if begins_anew:
            assert not found[row_id][4:].any()
        else:
            np.testing.assert_array_equal(found[row_id], row)


@pytest.mark.parametrize("part", ["ids", "rows", "state"])
def test_rows_stay_where_a_part_of_those_to_be_loaded_is_missing(
    part, table, shards, rows_of
):
    model = train(make_model(table, shards))
    store = {}
    model.layers[1].save_own_variables(store)
    del store[f"persia_{part}_0"]
    train(model)
    ptf.Table(table, shards).assign([5000], np.ones((1, 4)))
    expected = rows_of(table, shards)
    with pytest.raises(ValueError, match=f"incomplete.*'persia_{part}_0'"):
        model.layers[1].load_own_variables(store)
    assert_same_rows(rows_of(table, shards), expected)


class Unreadable(dict):
    """A store from which the last rows cannot be read."""

    def __getitem__(self, name):
        if name == max(key for key in self if "persia_rows_" in key):
            raise OSError("cannot read")
        return super().__getitem__(name)


def test_no_row_is_gone_where_those_to_be_loaded_cannot_be_read(table, shards, rows_of):
    model = train(make_model(table, shards))
    store = Unreadable()
    model.layers[1].save_own_variables(store)
    ptf.Table(table, shards).assign([5000], np.ones((1, 4)))
    expected = rows_of(table, shards)
    with pytest.raises(OSError, match="cannot read"):
        model.layers[1].load_own_variables(store)
    assert_same_rows(rows_of(table, shards), expected)


def test_a_full_table_gets_the_rows_that_were_saved(
    table, shards, other_shards, tmp_path, rows_of
):
    path = str(tmp_path / "m.weights.h5")
    options = {"capacity": 300, "eviction": "lfu"}
    train(make_model(table, shards, **options)).save_weights(path)
    expected = rows_of(table, shards)
    layer = make_model(table, other_shards, **options).layers[1]
    for _ in range(10):  # More uses than loaded rows have.
        layer(np.arange(5000, 5300), training=True)
    model = make_model(table, other_shards, **options)
    model.load_weights(path)
    assert_same_rows(rows_of(table, other_shards), expected)


def test_another_output_dim_is_refused(table, shards, other_shards, tmp_path):
    path = str(tmp_path / "m.weights.h5")
    train(make_model(table, shards)).save_weights(path)
    other = make_model(table, other_shards, dim=8)
    with pytest.raises(ValueError, match="the same `output_dim`.*=8.*with 4"):
        other.load_weights(path)
    assert len(ptf.Table(table, other_shards)) == 0


def test_another_compression_is_refused(table, shards, other_shards, tmp_path):
    path = str(tmp_path / "m.weights.h5")
    stacks = [ptf.compression.HashStack(buckets=n) for n in (50, 60)]
    train(make_model(table, shards, compression=stacks[0])).save_weights(path)
    other = make_model(table, other_shards, compression=stacks[1])
    with pytest.raises(ValueError, match="the same `compression`"):
        other.load_weights(path)


def test_rows_beyond_the_capacity_are_told_of(
    table, shards, other_shards, tmp_path, caplog
):
    path = str(tmp_path / "m.weights.h5")
    train(make_model(table, shards)).save_weights(path)
    count = len(ptf.Table(table, shards))
    other = make_model(table, other_shards, capacity=60)
    with caplog.at_level("WARNING", logger="absl"):
        other.load_weights(path)
    held = len(ptf.Table(table, other_shards))
    assert f"holds only {held} of the {count} saved rows" in caplog.text


def test_a_model_of_other_layers_is_refused(table, shards, tmp_path):
    path = str(tmp_path / "m.weights.h5")
    inputs = keras.Input((3,))
    vectors = keras.layers.Flatten()(keras.layers.Identity()(inputs))
    other = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    other.compile("adam", "mse")
    other.fit(IDS.astype("float32"), LABELS, verbose=0)
    other.save_weights(path)
    model = train(make_model(table, shards))
    with pytest.raises(ValueError, match="has no data in what is being loaded"):
        model.load_weights(path)
    assert len(ptf.Table(table, shards)) > 100


def test_a_file_of_another_worker_than_the_chief_is_refused(
    table, shards, file, rows_of, monkeypatch
):
    model = train(make_model(table, shards))
    with monkeypatch.context() as patched:
        patched.setattr(Workers, "is_chief", False)
        model.save(file)
    expected = rows_of(table, shards)
    with pytest.raises(ValueError, match="a worker other than the chief wrote it"):
        keras.models.load_model(file)
    assert_same_rows(rows_of(table, shards), expected)


# ---- Rows that stay.


def test_rows_may_stay_out_of_what_is_saved(table, shards, file, rows_of, caplog):
    model = train(make_model(table, shards))
    with ptf.rows_stay():
        model.save(file)
    train(model)
    expected = rows_of(table, shards)
    with caplog.at_level("WARNING", logger="absl"):
        loaded = keras.models.load_model(file)
    assert "holds no rows, so table" in caplog.text
    assert_same_rows(rows_of(table, shards), expected)
    assert not np.array_equal(loaded.get_weights()[-1], model.get_weights()[-1])


def test_rows_may_stay_as_they_are_when_a_model_is_loaded(
    table, shards, file, rows_of, caplog
):
    model = train(make_model(table, shards))
    model.save(file)
    train(model)
    expected = rows_of(table, shards)
    with caplog.at_level("WARNING", logger="absl"), ptf.rows_stay():
        keras.models.load_model(file)
    assert caplog.text == ""
    assert_same_rows(rows_of(table, shards), expected)


# ---- Copies of a model.


def cloned(model):
    return keras.models.clone_model(model)


def through_json(model):
    return keras.models.model_from_json(model.to_json())


@pytest.mark.parametrize("copied", [cloned, through_json])
def test_a_copy_of_a_model_has_the_same_rows(copied, table, shards):
    model = train(make_model(table, shards))
    before = len(ptf.Table(table, shards))
    copy = copied(model)
    copy.set_weights(model.get_weights())
    scores = model.predict(IDS, verbose=0)
    np.testing.assert_allclose(copy.predict(IDS, verbose=0), scores, atol=1e-6)
    assert len(ptf.Table(table, shards)) == before


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras pickles in ways of its own")
def test_a_pickled_model_holds_its_rows(table, shards, rows_of):
    model = train(make_model(table, shards))
    expected = rows_of(table, shards)
    scores = model.predict(IDS, verbose=0)
    pickled = pickle.dumps(model)
    train(model)
    again = pickle.loads(pickled)
    assert_same_rows(rows_of(table, shards), expected)
    np.testing.assert_allclose(again.predict(IDS, verbose=0), scores, atol=1e-6)


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras copies in ways of its own")
def test_a_deep_copy_of_a_model_has_the_same_rows(table, shards, rows_of):
    model = train(make_model(table, shards))
    expected = rows_of(table, shards)
    copied = copy.deepcopy(model)
    assert_same_rows(rows_of(table, shards), expected)
    scores = model.predict(IDS, verbose=0)
    np.testing.assert_allclose(copied.predict(IDS, verbose=0), scores, atol=1e-6)
    train(copied)
    scores = copied.layers[1](IDS)
    np.testing.assert_array_equal(model.layers[1](IDS), scores)


# ---- Within a fit.


class Rows(keras.callbacks.Callback):
    """Keeps the rows at the end of each batch."""

    def __init__(self, read):
        super().__init__()
        self.read = read
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        self.rows.append(self.read())


def batches_of(model):
    return tf.data.Dataset.from_tensor_slices((IDS, LABELS)).batch(8)


def prefetched(model):
    return ptf.data.prefetch(batches_of(model), model, staleness=0)


def test_a_file_of_the_midst_of_a_prefetched_epoch_has_the_rows_of_its_step(
    table, shards, other_shards, tmp_path, rows_of
):
    model = make_model(table, shards)
    path = str(tmp_path / "{batch}.keras")
    saving = keras.callbacks.ModelCheckpoint(path, save_freq=3)
    reading = Rows(lambda: rows_of(table, shards))
    model.fit(prefetched(model), verbose=0, callbacks=[saving, reading])
    for batch in (3, 6):
        with ptf.use_cluster(other_shards):
            keras.models.load_model(path.format(batch=batch))
        # Without rows of the next batch, which may or may not have been made by
        # prefetching.
        trained = set(IDS[: 8 * batch].ravel().tolist())
        found, expected = (
            {row_id: row for row_id, row in rows.items() if row_id in trained}
            for rows in (rows_of(table, other_shards), reading.rows[batch - 1])
        )
        assert found.keys() == trained
        assert_same_rows(found, expected)


def test_loading_in_the_midst_of_a_prefetched_epoch_is_refused(table, shards, tmp_path):
    path = str(tmp_path / "m.weights.h5")
    model = train(make_model(table, shards))
    model.save_weights(path)
    batches = iter(prefetched(model).repeat())
    next(batches)
    with pytest.raises(Exception, match="cannot be loaded while .* batches"):
        model.load_weights(path)
    del batches
    model.load_weights(path)
    model.fit(prefetched(model), verbose=0)
    model.load_weights(path)


class Stop(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize("data_of", [prefetched, batches_of])
def test_a_fit_that_was_backed_up_goes_on_with_its_rows(
    data_of, table, shards, other_shards, tmp_path, rows_of
):
    def fit(cluster, *callbacks):
        model = make_model(table, cluster)
        return model.fit(data_of(model), epochs=4, verbose=0, callbacks=[*callbacks])

    def backup():
        return keras.callbacks.BackupAndRestore(str(tmp_path / "backup"))

    fit(shards)
    expected = rows_of(table, shards)
    ptf.Table(table, shards).remove(list(expected))
    with pytest.raises(KeyboardInterrupt):
        fit(shards, backup(), Stop())
    history = fit(other_shards, backup())
    assert len(history.history["loss"]) == 2
    found = rows_of(table, other_shards)
    assert found.keys() == expected.keys()
    for row_id, row in expected.items():
        np.testing.assert_allclose(found[row_id], row, atol=1e-5)
