"""The bound on staleness holds everywhere, and with distant shards it is used."""

import pytest
import tensorflow as tf

import persia_tf as ptf

STEPS = 40


def check(cluster, staleness):
    """Checks that no batch was more stale than the bound."""
    assert cluster.session.counters()["staleness_max"] <= staleness
    batches = cluster.session.staleness_histogram()
    assert sum(batches) >= STEPS
    assert sum(batches[staleness + 1 :]) == 0


def check_that_it_is_used(cluster):
    # If no batch were stale, these tests would show nothing.
    assert cluster.session.counters()["staleness_max"] > 0


@pytest.mark.parametrize("staleness", [0, 1, 4])
def test_of_prefetched_batches(table, far_cluster, counting_model, rows_of, staleness):
    # The cluster's own staleness must not count.
    cluster = far_cluster(0 if staleness else 4)
    counting = counting_model([table], cluster, steps=STEPS)
    counting.fit(staleness=staleness)
    check(cluster, staleness)
    # With a smaller bound, a step may overtake its lookups that were sent ahead.
    if staleness == 4:
        check_that_it_is_used(cluster)
        assert cluster.session.counters()["prefetch_hits"] > 0
    assert rows_of(table, cluster) == counting.counts


@pytest.mark.parametrize("staleness", [0, 1, 4])
def test_of_batches_that_are_not_prefetched(
    table, far_cluster, counting_model, rows_of, staleness
):
    cluster = far_cluster(staleness)
    counting = counting_model([table], cluster, steps=STEPS)
    counting.fit()
    check(cluster, staleness)
    if staleness == 4:
        check_that_it_is_used(cluster)
    assert rows_of(table, cluster) == counting.counts


@pytest.mark.parametrize("prefetched", [False, True])
@pytest.mark.parametrize("staleness", [0, 1, 4])
def test_of_the_rows_that_steps_really_see(
    table, far_cluster, counting_model, staleness, prefetched
):
    cluster = far_cluster(staleness)
    counting = counting_model([table], cluster, steps=STEPS)
    lag = counting.worst_lag(staleness=staleness if prefetched else None)
    assert lag <= staleness
    # A lookup that is not prefetched may come after an update that it need not see.
    assert lag > 0 or not (prefetched and staleness == 4)
    assert lag <= cluster.session.counters()["staleness_max"]


@pytest.mark.parametrize("staleness", [0, 1, 4])
def test_of_both_kinds_of_batches_in_turn(
    table, far_cluster, counting_model, rows_of, staleness
):
    cluster = far_cluster(staleness)
    counting = counting_model([table], cluster, steps=STEPS)
    prefetched = iter(
        ptf.data.prefetch(counting.dataset, counting.model, staleness=staleness)
    )
    plain = iter(counting.dataset)
    for _ in range(STEPS):
        for batches in (prefetched, plain):
            counting.model.train_on_batch(*next(batches))
    check(cluster, staleness)
    counters = cluster.session.counters()
    # Steps of the other kind made some of the lookups sent ahead too old.
    assert counters["prefetch_hits"] + counters["prefetch_stale"] >= STEPS / 2
    twice = {row_id: [2 * count] for row_id, [count] in counting.counts.items()}
    assert rows_of(table, cluster) == twice


@pytest.mark.parametrize("staleness", [0, 1, 4])
def test_of_two_models_that_share_a_table(
    table, far_cluster, counting_model, rows_of, staleness
):
    cluster = far_cluster(staleness)
    pair = [counting_model([table], cluster, steps=STEPS) for _ in range(2)]
    streams = [
        iter(ptf.data.prefetch(each.dataset, each.model, staleness=staleness))
        for each in pair
    ]
    for _ in range(STEPS):
        for each, batches in zip(pair, streams):
            each.model.train_on_batch(*next(batches))
    check(cluster, staleness)
    twice = {row_id: [2 * count] for row_id, [count] in pair[0].counts.items()}
    assert rows_of(table, cluster) == twice


def test_of_two_tables_of_one_model(table, far_cluster, counting_model, rows_of):
    cluster = far_cluster(0)
    tables = [table, f"{table}_too"]
    counting = counting_model(tables, cluster, steps=STEPS)
    counting.fit(staleness=2)
    check(cluster, 2)
    for each in tables:
        assert rows_of(each, cluster) == counting.counts


def test_an_evaluation_lacks_no_update(table, far_cluster, counting_model):
    cluster = far_cluster(4)
    counting = counting_model([table], cluster, steps=STEPS)
    counting.fit(staleness=4)
    ids = sorted(counting.counts)
    seen = counting.model(tf.constant(ids, tf.int64), training=False)
    assert seen.numpy().tolist() == [counting.counts[row_id] for row_id in ids]


@pytest.mark.slow
def test_the_metrics_tell_of_it(run_python, far_cluster):
    shards = far_cluster(0).shards
    program = f"""
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import keras
cluster = ptf.Cluster({list(shards)}, timeout=20)
inputs = keras.Input(shape=(), dtype="int64")
layer = ptf.layers.PersiaEmbedding(1, table="told", cluster=cluster)
model = keras.Model(inputs, layer(inputs))
model.compile("sgd", "mse")
ids = np.arange({STEPS} * 4) % 20
data = tf.data.Dataset.from_tensor_slices((ids, ids[:, None].astype("float32")))
model.fit(ptf.data.prefetch(data.batch(4), model, staleness=3), verbose=0)
ptf.flush()
told = ptf.metrics()
assert 0 < told["staleness_max"] <= 3, told
assert sum(told["staleness_histogram"]) == {STEPS} == told["updates"], told
assert told["staleness_last"] <= 3 and told["prefetch_hits"] > 0, told
"""
    run_python(program)
