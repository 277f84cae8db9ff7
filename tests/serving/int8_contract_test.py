"""The int8 contract of cc/store/int8.h, for everything that holds int8 vectors."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf.serving.served_rows import ServedRows

DIM = 4
# Their largest magnitude is 127 times a power of two, so all have the same scale.
EXACT = {
    "whole numbers": ([127, -3, 6, -126], [127, -3, 6, -126]),
    "small numbers": (
        [-127 * 2**-10, 2**-10, 0, 3 * 2**-10],
        [-127 * 2**-10, 2**-10, 0, 3 * 2**-10],
    ),
    "zeros": ([0, 0, 0, 0], [0, 0, 0, 0]),
    "one number": ([0, 0, 127, 0], [0, 0, 127, 0]),
    "a negative largest": ([-127, 127, -127, 0], [-127, 127, -127, 0]),
    "numbers between": ([127, 0.4, 0.6, -1.6], [127, 0, 1, -2]),
    "near the largest": ([127, 126.6, -126.6, 126.4], [127, 127, -127, 126]),
}
TIES = [127, 0.5, 1.5, -2.5]
TIES_TO_EVEN, TIES_TO_ZERO = [127, 0, 2, -2], [127, 0, 1, -2]


@pytest.fixture
def hold_in_store(table):
    """Rows of a table with row_dtype="int8"."""

    def hold(vectors):
        cluster = ptf.Cluster.embedded()
        layer = ptf.layers.PersiaEmbedding(
            vectors.shape[1], table=table, cluster=cluster, row_dtype="int8"
        )
        layer.build((None,))
        ids = np.arange(len(vectors))
        layer.rows.assign(ids, vectors)
        return layer.rows.lookup(ids)

    return hold


@pytest.fixture
def hold_in_message(table, start_shards):
    """Rows that a shard sends with wire_dtype="int8"."""

    def hold(vectors):
        [shard] = start_shards(1)
        cluster = ptf.Cluster([shard.address], timeout=20, wire_dtype="int8")
        layer = ptf.layers.PersiaEmbedding(
            vectors.shape[1], table=table, cluster=cluster
        )
        layer.build((None,))
        ids = np.arange(len(vectors))
        exact = ptf.Cluster([shard.address], timeout=20)
        ptf.Table(table, cluster=exact).assign(ids, vectors)
        return np.array(layer(ids))

    return hold


def hold_in_export(vectors):
    """Rows of a standalone export with row_dtype="int8"."""
    rows = ServedRows(len(vectors), vectors.shape[1], "int8")
    places = tf.range(len(vectors), dtype=tf.int64)
    rows.write(places, tf.constant(vectors))
    return rows.gather(places).numpy()


@pytest.fixture(params=["store", "message", "export"])
def kind(request):
    return request.param


@pytest.fixture
def hold(kind, request):
    """Returns vectors after they were held as int8."""
    if kind == "export":
        return hold_in_export
    return request.getfixturevalue(f"hold_in_{kind}")


def float32(vectors):
    return np.array(vectors, np.float32)


def test_the_same_scale_gives_the_same_numbers(hold):
    held = hold(float32([vector for vector, _ in EXACT.values()]))
    for found, (name, (_, expected)) in zip(held, EXACT.items()):
        np.testing.assert_array_equal(found, float32(expected), err_msg=name)


def test_ties_round_to_even_but_to_zero_in_a_stored_row(hold, kind):
    expected = TIES_TO_ZERO if kind == "store" else TIES_TO_EVEN
    np.testing.assert_array_equal(hold(float32([TIES])), [expected])


def some_vectors():
    draw = np.random.default_rng(0)
    factors = 2.0 ** draw.uniform(-60, 60, (400, 1))
    return float32(draw.normal(size=(400, 8)) * factors)


def test_numbers_are_off_by_at_most_half_a_scale(hold, kind):
    vectors = some_vectors()
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scales = largest / 127
    if kind == "store":
        scales = 2.0 ** np.ceil(np.log2(scales))
    errors = np.abs(hold(vectors) - vectors)
    assert (errors <= scales * (0.5 + 1e-4)).all()
    assert (errors > scales * 0.49).any()


def test_the_largest_number_keeps_its_value_but_in_a_stored_row(hold, kind):
    vectors = some_vectors()
    held = hold(vectors)
    largest = np.abs(vectors).argmax(axis=1)[:, np.newaxis]
    rtol = 1 / 127 if kind == "store" else 1e-6
    np.testing.assert_allclose(
        np.take_along_axis(held, largest, 1),
        np.take_along_axis(vectors, largest, 1),
        rtol=rtol,
    )


def test_negated_vectors_are_held_negated(hold):
    vectors = some_vectors()
    held = hold(np.concatenate([vectors, -vectors]))
    np.testing.assert_array_equal(held[len(vectors) :], -held[: len(vectors)])


def test_extreme_vectors_stay_finite_and_keep_their_signs(hold):
    vectors = float32([[m, -m, m / 2, 0] for m in (3e38, 1e-36, 1e-40, 2.6e-43, 1e-45)])
    held = hold(vectors)
    assert np.isfinite(held).all()
    assert (held * np.sign(vectors) >= 0).all()
    assert (np.abs(held - vectors) <= np.abs(vectors[:, :1])).all()
    np.testing.assert_allclose(held[0], vectors[0], rtol=1 / 63)
