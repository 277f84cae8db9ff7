"""Connections that break all the time lose no update, and apply none twice.

The original PERSIA dropped the batch of a lookup that failed, and logged and lost a
failed push.
"""

import pytest
import tcp_proxy
import tensorflow as tf
from training import SeededTraining, assert_same_rows

import persia_tf as ptf

STEPS = 1000
LEAST_CUTS = 40
TRAINING = SeededTraining(STEPS)


def cluster_of(addresses, **options):
    return ptf.Cluster(addresses, timeout=20, **options)


def check_that_it_was_bad(cluster, shards):
    """Checks that connections broke, and that shards got updates a second time."""
    counters = cluster.session.counters()
    assert counters["reconnects"] >= LEAST_CUTS
    assert counters["retries"] >= LEAST_CUTS
    assert counters["gradients_absent"] == counters["gradients_nonfinite"] == 0
    processes = cluster_of([shard.address for shard in shards]).stats()
    assert sum(process.repeated_updates for process in processes) > 0


# With int4, a retry must not change the residuals of error feedback either.
@pytest.mark.parametrize("wire_dtype", ["float32", "int4"])
@pytest.mark.parametrize(
    "prefetched", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_synchronous_training_makes_the_rows_of_an_undisturbed_one(
    table, start_shards, start_proxies, rows_of, prefetched, wire_dtype
):
    # With prefetching, the staleness of `prefetch` counts, not this one.
    options = {"staleness": 4 if prefetched else 0, "wire_dtype": wire_dtype}
    shards = start_shards(2)
    undisturbed = cluster_of([shard.address for shard in shards], **options)
    TRAINING.run(table, undisturbed, prefetched)
    expected = rows_of(table, undisturbed)

    shards = start_shards(2)
    addresses = [shard.address for shard in shards]
    mean_bytes = 10_000 if wire_dtype == "float32" else 5_000
    cuts = tcp_proxy.Cuts(seed=3, mean_bytes=mean_bytes, hold=0.002)
    proxies = start_proxies(addresses, delay=0.0002, cuts=cuts)
    cluster = cluster_of([proxy.address for proxy in proxies], **options)
    TRAINING.run(table, cluster, prefetched)
    cluster.flush()
    check_that_it_was_bad(cluster, shards)
    assert_same_rows(rows_of(table, cluster_of(addresses)), expected)


@pytest.mark.parametrize(
    "prefetched", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_asynchronous_updates_are_applied_once_each(
    table, start_shards, start_proxies, rows_of, counting_model, prefetched
):
    shards = start_shards(2)
    addresses = [shard.address for shard in shards]
    cuts = tcp_proxy.Cuts(seed=4, mean_bytes=5_000, hold=0.002)
    proxies = start_proxies(addresses, delay=0.0005, cuts=cuts)
    cluster = cluster_of([proxy.address for proxy in proxies], staleness=4)
    counting = counting_model([table], cluster, steps=STEPS)
    counting.fit(staleness=4 if prefetched else None)
    cluster.flush()
    check_that_it_was_bad(cluster, shards)
    assert rows_of(table, cluster_of(addresses)) == counting.counts


def test_an_update_does_not_overtake_the_lookup_that_creates_its_rows(
    table, start_shards, counting_model
):
    # The gradients of a sum do not depend on the rows, which never come.
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], timeout=1)
    counting = counting_model([table], cluster, steps=1)
    shard.stop()
    with pytest.raises(tf.errors.OpError, match=shard.address):
        counting.fit()
    assert cluster.session.counters()["committed"] == 0
