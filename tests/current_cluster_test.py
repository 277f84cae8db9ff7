"""`ptf.use_cluster`: the cluster of layers and calls that name none."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras

IDS = np.array([[1, 2], [3, 4]])


@pytest.fixture
def start_cluster(start_shards, tmp_path):
    def start():
        shards = start_shards(2, checkpoint_root=str(tmp_path))
        return ptf.Cluster([shard.address for shard in shards], timeout=20)

    return start


@pytest.fixture
def one(start_cluster):
    return start_cluster()


@pytest.fixture
def other(start_cluster):
    return start_cluster()


def make_layer(table, **options):
    return ptf.layers.PersiaEmbedding(2, table=table, **options)


def make_model(table, **options):
    inputs = keras.Input((2,), dtype="int64")
    model = keras.Model(inputs, make_layer(table, **options)(inputs))
    model.compile("adam", "mse")
    return model


def test_a_layer_that_is_made_directly_is_on_it(one, table):
    with ptf.use_cluster(one):
        layer = make_layer(table)
    layer(IDS, training=True)
    assert len(ptf.Table(table, one)) == 4
    assert layer.rows.cluster is one


def test_the_layers_of_a_subclassed_model_are_on_it(one, table):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.rows = make_layer(table)

        def call(self, ids, training=None):
            return self.rows(ids)

    with ptf.use_cluster(one):
        model = Model()
    model(IDS, training=True)
    assert len(ptf.Table(table, one)) == 4


def test_a_cluster_that_a_layer_is_given_goes_before(one, other, table):
    with ptf.use_cluster(one):
        assert make_layer(table, cluster=other).cluster is other


def test_for_a_layer_that_is_made_from_a_config_it_goes_before(one, other, table):
    config = make_layer(table, cluster=other).get_config()
    with ptf.use_cluster(one):
        layer = ptf.layers.PersiaEmbedding.from_config(config)
    assert layer.cluster is one


def test_the_inner_one_holds_and_none_holds_afterwards(one, other, table):
    with ptf.use_cluster(one):
        with ptf.use_cluster(other):
            assert make_layer(table).cluster is other
        assert make_layer(table).cluster is one
    assert make_layer(table).cluster is None


def test_a_copy_that_is_made_outside_of_it_is_on_the_same(one, table):
    with ptf.use_cluster(one):
        model = make_model(table)
    clone = keras.models.clone_model(model)
    model(IDS, training=True)
    np.testing.assert_array_equal(clone(IDS), model(IDS))


def test_a_saved_model_names_it_and_can_be_loaded_onto_another(
    one, other, table, tmp_path
):
    path = str(tmp_path / "m.keras")
    with ptf.use_cluster(one):
        model = make_model(table)
    model(IDS, training=True)
    scores = model(IDS)
    model.save(path)
    assert keras.models.load_model(path).layers[1].cluster.shards == one.shards
    with ptf.use_cluster(other):
        loaded = keras.models.load_model(path)
    assert len(ptf.Table(table, other)) == 4
    np.testing.assert_array_equal(loaded(IDS), scores)


def test_tables_are_of_it(one, table):
    make_layer(table, cluster=one)(IDS, training=True)
    with ptf.use_cluster(one):
        rows = ptf.Table(table)
    assert len(rows) == 4
    with ptf.use_cluster(ptf.Cluster.embedded()):
        assert ptf.Table(table, one).cluster is one


def test_checkpoints_are_of_it(one, table):
    layer = make_layer(table, cluster=one)
    layer(IDS, training=True)
    with ptf.use_cluster(one):
        ptf.checkpoint.save("run")
        layer.rows.remove([1, 2])
        ptf.checkpoint.restore("run")
    assert len(layer.rows) == 4


def test_a_callback_that_is_made_in_it_saves_it(one, table):
    with ptf.use_cluster(one):
        model = make_model(table)
        saving = ptf.callbacks.TableCheckpoint("run")
    model.fit(IDS, np.ones((2, 2, 2)), verbose=0, callbacks=[saving])
    assert saving.last_saved is not None
    model.layers[1].rows.remove([1, 2])
    ptf.checkpoint.restore("run", cluster=one)
    assert len(model.layers[1].rows) == 4


def test_a_model_is_converted_to_it(one, table):
    inputs = keras.Input((2,), dtype="int64")
    layer = keras.layers.Embedding(9, 2, name=table)
    model = keras.Model(inputs, layer(inputs))
    with ptf.use_cluster(one):
        converted, _ = ptf.convert(model, min_rows=1)
    assert len(ptf.Table(table, one)) == 9
    np.testing.assert_allclose(converted(IDS), model(IDS))


def test_it_takes_clusters_alone():
    with pytest.raises(TypeError, match="`cluster` must be a ptf.Cluster"):
        with ptf.use_cluster("127.0.0.1:7000"):
            pass
