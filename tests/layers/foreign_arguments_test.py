"""Arguments of `keras.layers.Embedding` that a `PersiaEmbedding` does not have."""

import inspect
import re

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.layers import CastingPersiaEmbedding, PersiaEmbedding

VOCABULARY = r"no vocabulary.*Write PersiaEmbedding\(16\).*Received: "


def test_two_numbers_are_told_that_there_is_no_vocabulary():
    with pytest.raises(TypeError, match=VOCABULARY + r"PersiaEmbedding\(1000, 16\)"):
        PersiaEmbedding(1000, 16)
    with pytest.raises(TypeError, match=VOCABULARY):
        PersiaEmbedding(1000, 16, "uniform")


@pytest.mark.parametrize("args, kwargs", [((16,), {}), ((), {"output_dim": 16})])
def test_input_dim_is_told_that_there_is_no_vocabulary(args, kwargs):
    with pytest.raises(TypeError, match=VOCABULARY + "input_dim=1000"):
        PersiaEmbedding(*args, input_dim=1000, **kwargs)


def test_another_class_is_told_of_by_its_name():
    with pytest.raises(TypeError, match=r"Write CastingPersiaEmbedding\(16\)"):
        CastingPersiaEmbedding(1000, 16)


@pytest.mark.parametrize("given", [(16, "user"), ("user", 16)])
def test_other_arguments_must_be_named(given):
    written = re.escape(
        'Name the other arguments, as in PersiaEmbedding(16, table="user")'
    )
    with pytest.raises(TypeError, match=written):
        PersiaEmbedding(*given)


@pytest.mark.parametrize(
    ("argument", "value", "remedy"),
    [
        ("input_length", 10, "any shape"),
        ("embeddings_constraint", "max_norm", "weight_bound"),
        ("weights", [np.zeros((100, 100))], "assign"),
        ("sparse", True, "Leave it out"),
        ("lora_rank", 4, "LoRA"),
        ("embeddings_regularizer", "l1", "weight_decay=d"),
        ("embeddings_regularizer", lambda weights: 0.0, "weight_decay=d"),
        ("embeddings_regularizer", "l2", "weight_decay=0.02"),
        (
            "embeddings_regularizer",
            keras.regularizers.L1L2(l2=1e-5),
            "weight_decay=2e-05.*decay",
        ),
    ],
)
def test_each_is_refused_with_its_remedy(argument, value, remedy):
    match = f"no argument `{argument}`.*{remedy}.*Received: {argument}="
    with pytest.raises(TypeError, match=match) as raised:
        PersiaEmbedding(16, **{argument: value})
    assert len(str(raised.value)) < 600  # Not a whole matrix.


@pytest.mark.parametrize(
    "nothing",
    [
        {"embeddings_regularizer": None, "embeddings_constraint": None},
        {"embeddings_regularizer": keras.regularizers.L2(0.0)},
        {"embeddings_regularizer": keras.regularizers.L1L2()},
        {"input_dim": None, "input_length": None, "weights": None, "sparse": False},
    ],
)
def test_what_asks_for_nothing_is_taken(nothing):
    assert PersiaEmbedding(16, **nothing).output_dim == 16


def test_the_signature_is_that_of_the_constructor():
    parameters = inspect.signature(PersiaEmbedding).parameters
    assert [*parameters][:2] == ["output_dim", "table"]


def test_a_subclass_has_a_signature_of_its_own(table):
    class OfVocabulary(PersiaEmbedding):
        def __init__(self, input_dim, output_dim, **options):
            super().__init__(output_dim, **options)

    assert OfVocabulary(1000, 16, table=table).output_dim == 16


def test_an_activity_regularizer_works_and_is_in_the_config(table):
    layer = PersiaEmbedding(
        *(2,),
        table=table,
        embeddings_initializer="ones",
        optimizer=ptf.optimizers.SGD(0.1),
        activity_regularizer=keras.regularizers.L2(0.5),
    )
    layer = PersiaEmbedding.from_config(layer.get_config())
    ids = keras.Input((), dtype="int64")
    model = keras.Model(ids, layer(ids))
    model.compile("sgd", lambda y, vectors: tf.reduce_sum(0.0 * vectors, axis=-1))
    model.fit(np.arange(4), np.zeros((4, 2)), batch_size=4, verbose=0)
    # The gradient of 0.5 * w**2, divided by the batch size, 4.
    np.testing.assert_allclose(ptf.Table(table).lookup([0]), [[0.975] * 2], rtol=1e-5)
