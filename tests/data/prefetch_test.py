"""What `ptf.data.prefetch` takes, refuses, and passes on."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras


def test_elements_stay_as_they_are(dataset, make_model):
    prefetched = ptf.data.prefetch(dataset, make_model())
    assert prefetched.element_spec == dataset.element_spec
    assert int(prefetched.cardinality()) == int(dataset.cardinality())
    assert_equal_elements(prefetched, dataset)


def test_sample_weights_stay_too(dataset, make_model):
    weighted = dataset.map(lambda ids, label: (ids, label, tf.abs(label)))
    assert_equal_elements(ptf.data.prefetch(weighted, make_model()), weighted)


def test_ids_alone_are_a_dataset(dataset, make_model):
    ids = dataset.map(lambda ids, label: ids)
    assert_equal_elements(ptf.data.prefetch(ids, make_model()), ids)


def test_endless_datasets_stay_endless(dataset, make_model):
    prefetched = ptf.data.prefetch(dataset.repeat(), make_model())
    assert prefetched.cardinality() == tf.data.INFINITE_CARDINALITY
    assert_equal_elements(prefetched.take(25), dataset.repeat().take(25))


def assert_equal_elements(first, second):
    first, second = list(first), list(second)
    assert len(first) == len(second)
    for one, other in zip(first, second):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("data", [np.arange(8), [1, 2], None], ids=type)
def test_what_is_no_dataset_is_refused(data, make_model):
    with pytest.raises(TypeError, match=r"`dataset` must be a tf\.data\.Dataset"):
        ptf.data.prefetch(data, make_model())


@pytest.mark.parametrize("model", ["m", None], ids=type)
def test_what_is_no_model_is_refused(model, dataset):
    with pytest.raises(TypeError, match="`model` must be a Keras model. Received"):
        ptf.data.prefetch(dataset, model)


def test_elements_that_the_model_refuses_are_told_of(dataset, make_model):
    for wrong in (dataset.unbatch(), dataset.map(lambda ids, label: {"id": ids})):
        with pytest.raises(ValueError, match=r"`ptf\.data\.prefetch` called") as caught:
            ptf.data.prefetch(wrong, of_dict(make_model()))
        assert f"element_spec={wrong.element_spec}" in str(caught.value)
        assert caught.value.__cause__ is not None


def of_dict(model):
    ids = keras.Input((3,), dtype="int64", name="ids")
    return keras.Model({"ids": ids}, model(ids))


def test_errors_of_shards_stay_as_they_are(dataset, start_shards, table):
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], timeout=1)
    shard.stop()
    rows = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)
    with pytest.raises(ptf.errors.PersiaError):
        ptf.data.prefetch(dataset, keras.Sequential([rows]))


def test_negative_staleness_is_refused(dataset, make_model):
    with pytest.raises(ValueError, match="staleness=-1"):
        ptf.data.prefetch(dataset, make_model(), staleness=-1)


@pytest.mark.parametrize("staleness", [1.5, "4", None])
def test_staleness_of_another_type_is_refused(staleness, dataset, make_model):
    with pytest.raises(TypeError, match="`staleness`"):
        ptf.data.prefetch(dataset, make_model(), staleness=staleness)


def test_a_model_that_looks_nothing_up_is_refused(dataset):
    inputs = keras.Input(shape=(3,), dtype="int64")
    model = keras.Model(inputs, keras.layers.Embedding(30, 4)(inputs))
    with pytest.raises(ValueError, match="must call at least one PersiaEmbedding"):
        ptf.data.prefetch(dataset, model)


def test_what_the_model_refuses_is_refused_as_the_stage_is_made(dataset, make_model):
    floats = dataset.map(lambda ids, label: (tf.cast(ids, tf.float32), label))

    class Passes(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = make_model().layers[1]

        def call(self, ids, training=None):
            return self.embedding(ids, training=training)

    with pytest.raises(ValueError, match=r'keras\.Input\(\.\.\., dtype="int64"\)'):
        ptf.data.prefetch(floats, Passes())
