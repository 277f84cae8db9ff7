"""Copies of hot rows in the trainer are used where they may be, and never too old."""

import pytest
import tensorflow as tf

import persia_tf as ptf

STEPS = 60


@pytest.fixture
def hot_cluster(far_cluster):
    return lambda staleness, hot_rows=1000: far_cluster(staleness, hot_rows=hot_rows)


def hits_and_misses(cluster):
    counters = cluster.session.counters()
    return counters["hot_row_hits"], counters["hot_row_misses"]


@pytest.mark.parametrize("hot_rows", [1000, 10])
def test_copies_serve_steps_that_may_be_stale(
    table, hot_cluster, counting_model, rows_of, hot_rows
):
    cluster = hot_cluster(4, hot_rows)
    counting = counting_model([table], cluster, steps=STEPS)
    assert 0 < counting.worst_lag() <= 4
    hits, misses = hits_and_misses(cluster)
    assert hits > 0
    assert hits + misses == counting.ids.size
    assert rows_of(table, cluster) == counting.counts
    assert cluster.session.counters()["gradients_absent"] == 0


def test_copies_serve_no_synchronous_step(table, hot_cluster, counting_model, rows_of):
    cluster = hot_cluster(0)
    counting = counting_model([table], cluster, steps=STEPS)
    assert counting.worst_lag() == 0
    assert hits_and_misses(cluster) == (0, counting.ids.size)
    assert rows_of(table, cluster) == counting.counts


@pytest.mark.parametrize("staleness", [0, 1, 4, 9])
def test_with_prefetching_the_bound_holds(
    table, hot_cluster, counting_model, rows_of, staleness
):
    cluster = hot_cluster(0)
    counting = counting_model([table], cluster, steps=STEPS)
    assert counting.worst_lag(staleness=staleness) <= staleness
    if staleness == 0:
        assert hits_and_misses(cluster)[0] == 0
    assert rows_of(table, cluster) == counting.counts


def test_copies_serve_prefetching_that_is_not_far_ahead(
    table, hot_cluster, counting_model, rows_of
):
    cluster = hot_cluster(0)
    counting = counting_model([table], cluster, steps=STEPS)
    # The staleness is more than the steps of all epochs.
    epochs = 3
    counting.fit(staleness=4 * STEPS, epochs=epochs)
    assert hits_and_misses(cluster)[0] > 0
    expected = {row_id: [epochs * count] for row_id, [count] in counting.counts.items()}
    assert rows_of(table, cluster) == expected


def test_an_evaluation_sees_every_update(table, hot_cluster, counting_model):
    cluster = hot_cluster(4)
    counting = counting_model([table], cluster, steps=STEPS)
    counting.fit()
    ids = sorted(counting.counts)
    seen = counting.model(tf.constant(ids, tf.int64), training=False)
    assert seen.numpy().tolist() == [counting.counts[row_id] for row_id in ids]


def test_rows_that_are_assigned_and_removed_leave_no_copies(
    table, hot_cluster, counting_model
):
    cluster = hot_cluster(4)
    counting = counting_model([table], cluster, steps=STEPS)
    counting.fit()
    ids = sorted(counting.counts)
    rows = ptf.Table(table, cluster=cluster)
    rows.assign(ids, [[1e6]] * len(ids))
    seen = counting.model(tf.constant(ids, tf.int64), training=True)
    assert seen.numpy().min() == 1e6
    assert rows.remove(ids) == len(ids)
    seen = counting.model(tf.constant(ids, tf.int64), training=True)
    assert seen.numpy().max() == 0


def test_a_cluster_without_them_counts_none(table, hot_cluster, counting_model):
    cluster = hot_cluster(4, hot_rows=0)
    counting_model([table], cluster, steps=10).fit()
    assert hits_and_misses(cluster) == (0, 0)
