"""Which layers are not converted, and what the report says about them."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

layers = keras.layers


def model_of(rows, shape=(2,)):
    ids = keras.Input(shape, dtype="int64")
    return keras.Model(ids, rows(ids))


def left_of(model, table, **options):
    _, report = ptf.convert(model, 10, table_prefix=f"{table}/", **options)
    assert report.converted == ()
    [left] = report.left
    return left


class _OwnEmbedding(layers.Embedding):
    pass


OPTIONS = [
    {"embeddings_regularizer": "l2"},
    {"embeddings_constraint": "non_neg"},
    {"dtype": "float64"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: [*options][0])
def test_what_rows_do_not_have_is_left(options, table):
    left = left_of(model_of(layers.Embedding(10, 3, name="rows", **options)), table)
    assert (left.path, left.rows, left.dim) == ("rows", 10, 3)
    name, value = next(iter(options.items()))
    assert (value if name == "dtype" else name) in left.reason


def test_small_tables_are_left(table):
    assert "min_rows=10" in left_of(model_of(layers.Embedding(9, 3)), table).reason


def test_classes_of_users_are_left(table):
    clone, report = ptf.convert(
        model_of(_OwnEmbedding(10, 3, name="rows")), 10, table_prefix=table
    )
    assert type(clone.get_layer("rows")) is _OwnEmbedding
    assert "_OwnEmbedding" in report.left[0].reason


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras has no such layers")
@pytest.mark.parametrize("change", ["enable_lora", "quantize"])
def test_lora_and_quantised_weights_are_left(change, table):
    model = model_of(layers.Embedding(10, 4, name="rows"))
    getattr(model.get_layer("rows"), change)(
        *{"enable_lora": (2,), "quantize": ("int8",)}[change]
    )
    reason = left_of(model, table).reason
    assert {"enable_lora": "LoRA", "quantize": "int8"}[change] in reason


def test_an_embedding_inside_of_another_layer_is_left(table):
    rows = layers.Embedding(10, 3, name="rows")
    model = model_of(layers.TimeDistributed(rows, name="wrapper"), shape=(2, 2))
    left = left_of(model, table)
    assert left.path == "wrapper/rows"
    assert "inside 'wrapper'" in left.reason
    ids = np.array([[[1, 2], [3, 9]]])
    clone, _ = ptf.convert(model, 10, table_prefix=table)
    np.testing.assert_array_equal(
        clone.predict(ids, verbose=0), model.predict(ids, verbose=0)
    )


def test_an_initializer_that_rows_lack_is_noted(table):
    model = model_of(layers.Embedding(10, 3, embeddings_initializer="he_normal"))
    _, report = ptf.convert(model, 10, table_prefix=table)
    assert "HeNormal" in report.converted[0].notes[0]


def test_rows_of_new_ids_are_as_wide_as_glorot_uniform_made_them(table):
    model = model_of(layers.Embedding(21, 3, embeddings_initializer="glorot_uniform"))
    converted, _ = ptf.convert(model, 10, table_prefix=table)
    [layer] = [
        each
        for each in converted.layers
        if isinstance(each, ptf.layers.PersiaEmbedding)
    ]
    assert layer.embeddings_initializer.get_config()["maxval"] == 0.5


def test_the_report_reads_well(table):
    ids = keras.Input((), dtype="int64")
    rows = [layers.Embedding(n, 3, name=f"of_{n}")(ids) for n in (9, 1000)]
    model = keras.Model(ids, layers.Add()(rows))
    _, report = ptf.convert(model, 10, "adagrad", table_prefix=f"{table}/")
    assert str(report).splitlines() == [
        f"1 Embedding converted, stepped by {ptf.optimizers.Adagrad()!r}",
        f"  of_1000: 1,000 x 3 in table '{table}/of_1000'",
        "1 Embedding left",
        "  of_9: 9 x 3: it has fewer than min_rows=10 rows",
    ]
