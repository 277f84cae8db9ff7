"""Row dtypes: how exactly rows are held."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf


def layer_of(table, row_dtype, cluster=None):
    return ptf.layers.PersiaEmbedding(
        *(8,), table=table, row_dtype=row_dtype, cluster=cluster, optimizer="sgd"
    )


@pytest.mark.parametrize("row_dtype", ["float64", "bf16", None, tf.float16])
def test_unknown_row_dtype_is_refused_with_the_known_ones(row_dtype):
    with pytest.raises(ValueError, match="'bfloat16', 'float16', 'int8'.*row_dtype="):
        layer_of("t", row_dtype)


@pytest.mark.parametrize("row_dtype", ["float32", "bfloat16", "float16", "int8"])
def test_config_round_trip(row_dtype):
    config = layer_of("t", row_dtype).get_config()
    copy = ptf.layers.PersiaEmbedding.from_config(config)
    assert copy.row_dtype == row_dtype
    assert copy.get_config() == config


@pytest.mark.parametrize(
    ("row_dtype", "error"),
    [("float32", 0), ("bfloat16", 2**-8), ("float16", 2**-11), ("int8", 1 / 126)],
)
def test_rows_are_as_exact_as_their_dtype(row_dtype, error, cluster, table):
    layer = layer_of(table, row_dtype, cluster)
    layer.build((None,))
    rows = np.random.default_rng(0).uniform(-1, 1, (1000, 8)).astype(np.float32)
    stored = ptf.Table(table, cluster)
    stored.assign(np.arange(1000), rows)
    errors = np.abs(stored.lookup(np.arange(1000)) - rows)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    assert (errors <= 1.001 * error * largest).all()
    assert (errors > 0.5 * error * largest).any() == (error > 0)
    assert np.array(layer(np.arange(10))).dtype == np.float32


def test_smaller_dtypes_take_less_memory(table):
    cluster = ptf.Cluster.embedded()
    taken = {}
    for row_dtype in ("float32", "bfloat16", "int8"):
        name = f"{table}_{row_dtype}"
        layer = ptf.layers.PersiaEmbedding(
            64, table=name, row_dtype=row_dtype, optimizer="sgd", cluster=cluster
        )
        layer(np.arange(50_000), training=True)
        (taken[row_dtype],) = [
            part.bytes for part in cluster.stats()[0].tables if part.name == name
        ]
    assert taken["int8"] < taken["bfloat16"] < taken["float32"]
