"""Training over a network that loses, changes and repeats bytes gives the same rows."""

import time

import pytest
import tcp_proxy
from training import SeededTraining, assert_same_rows

import persia_tf as ptf

TRAINING = SeededTraining(steps=300)
# The time-out of a request. A connection that falls silent takes a part of it.
TIMEOUT_SECONDS = 6
LEAST_FAULTS = 5
HANG_SECONDS = 180


@pytest.fixture(scope="module")
def expected():
    """The rows of an undisturbed training, which runs once."""
    return {}


@pytest.mark.parametrize(
    ("kind", "mean_bytes"),
    # Each fault that leaves a connection open and silent costs a second.
    [
        ("corrupt", 5_000),
        pytest.param("truncate", 20_000, marks=pytest.mark.slow),
        pytest.param("duplicate", 5_000, marks=pytest.mark.slow),
        pytest.param("drop", 20_000, marks=pytest.mark.slow),
    ],
)
def test_training_makes_the_rows_of_an_undisturbed_one(
    kind, mean_bytes, start_shards, start_proxies, rows_of, expected
):
    # Rows depend on the table's name, so it is the same in each of these tests.
    table = "through_faults"
    if not expected:
        addresses = [shard.address for shard in start_shards(2)]
        clean = ptf.Cluster(addresses, timeout=20, staleness=0)
        TRAINING.run(table, clean)
        expected.update(rows_of(table, clean))

    addresses = [shard.address for shard in start_shards(2)]
    faults = tcp_proxy.Faults(seed=11, mean_bytes=mean_bytes, kinds=[kind])
    proxies = start_proxies(addresses, faults=faults)
    cluster = ptf.Cluster(
        [proxy.address for proxy in proxies], timeout=TIMEOUT_SECONDS, staleness=0
    )
    begin = time.monotonic()
    TRAINING.run(table, cluster)
    cluster.flush()
    assert time.monotonic() - begin < HANG_SECONDS
    assert sum(proxy.faulty_connections for proxy in proxies) >= LEAST_FAULTS
    assert cluster.session.counters()["reconnects"] >= LEAST_FAULTS
    assert_same_rows(
        rows_of(table, ptf.Cluster(addresses, timeout=20)),
        expected,
    )
