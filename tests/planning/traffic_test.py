"""Predicted requests and bytes are those that are counted on real shards."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf.base import wire
from persia_tf.planning.balance import over_mean, rows_by_shard

STEPS = 6


def trained(model, dataset, cluster):
    """What the plan predicts of the steps, and what they take."""
    plan = ptf.plan(model, dataset, shards=len(cluster.shards))
    model.fit(dataset.take(1), verbose=0)  # The first step sets the optimizer.
    cluster.flush()
    plan = ptf.plan(model, dataset.skip(1), shards=len(cluster.shards))
    before = ptf.metrics()
    model.fit(ptf.data.prefetch(dataset.skip(1), model), verbose=0)
    cluster.flush()
    after = ptf.metrics()
    counters = ("requests", "bytes_out", "bytes_in")
    return plan, {name: (after[name] - before[name]) / (STEPS - 1) for name in counters}


def cluster_of(start_shards, count, **options):
    shards = start_shards(count)
    return ptf.Cluster([shard.address for shard in shards], timeout=20, **options)


SETUPS = {
    "ids": ([{"output_dim": 4}], {}),
    "two tables": ([{"output_dim": 4}, {"output_dim": 16}], {}),
    "bags": ([{"output_dim": 8, "combiner": "mean", "bag": 5}], {0: 5}),
    "one table": (
        [
            {"output_dim": 8, "table": "one"},
            {"output_dim": 8, "table": "one", "combiner": "sum", "bag": 3},
        ],
        {1: 3},
    ),
    "a frozen table": ([{"output_dim": 4}, {"output_dim": 8, "trainable": False}], {}),
}


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("setup", list(SETUPS))
def test_a_step_takes_what_the_plan_says(
    setup, shards, start_shards, make_model, make_dataset
):
    layers, bags = SETUPS[setup]
    cluster = cluster_of(start_shards, shards)
    model = make_model(*layers, cluster=cluster)
    dataset = make_dataset(*[300] * len(layers), bags=bags, steps=STEPS)
    plan, measured = trained(model, dataset, cluster)
    [planned] = plan.shards
    assert planned.requests == pytest.approx(measured["requests"])
    assert planned.bytes_out == pytest.approx(measured["bytes_out"])
    assert planned.bytes_in == pytest.approx(measured["bytes_in"])


@pytest.mark.parametrize("wire_dtype", ["float16", "bfloat16", "int8", "int4"])
def test_so_it_does_in_other_wire_dtypes(
    wire_dtype, start_shards, make_model, make_dataset
):
    cluster = cluster_of(start_shards, 2, wire_dtype=wire_dtype)
    model = make_model({"output_dim": 7}, cluster=cluster)
    plan, measured = trained(model, make_dataset(500, steps=STEPS), cluster)
    [planned] = plan.shards
    assert planned.bytes_out == pytest.approx(measured["bytes_out"])
    assert planned.bytes_in == pytest.approx(measured["bytes_in"])


def test_bags_that_one_shard_pools_are_planned_so(
    start_shards, make_model, make_dataset
):
    # Few ids repeat, so that bags take fewer bytes than rows.
    cluster = cluster_of(start_shards, 1)
    model = make_model(
        {"output_dim": 32, "combiner": "mean", "bag": 6}, cluster=cluster
    )
    dataset = make_dataset(10**6, bags={0: 6}, steps=STEPS)
    plan, measured = trained(model, dataset, cluster)
    assert plan.shards[0].bytes_in == pytest.approx(measured["bytes_in"])
    assert plan.shards[0].bytes_out == pytest.approx(measured["bytes_out"])


def test_shards_own_the_rows_that_the_plan_says(
    start_shards, make_model, make_dataset, table
):
    cluster = cluster_of(start_shards, 3)
    model = make_model({"output_dim": 4}, cluster=cluster)
    dataset = make_dataset(2_000, steps=STEPS)
    ids = np.unique(np.concatenate([x["in0"] for x, _ in dataset.as_numpy_iterator()]))
    model.fit(dataset, verbose=0)
    cluster.flush()
    rows = [shard.tables[0].rows for shard in cluster.shard_stats()]
    shares = rows_by_shard(ids, len(ids), 3)
    np.testing.assert_allclose(sorted(shares * len(ids)), sorted(rows))
    [planned] = ptf.plan(model, dataset, shards=3).shards
    assert planned.busiest_rows == pytest.approx(over_mean(np.array(rows)))


def test_a_checkpoint_has_the_size_that_the_plan_says(
    tmp_path, start_shards, make_model, make_dataset
):
    shards = start_shards(2, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=20)
    model = make_model({"output_dim": 4}, {"output_dim": 16}, cluster=cluster)
    dataset = make_dataset(2_000, 100, steps=STEPS)
    model.fit(dataset, verbose=0)
    saved = ptf.checkpoint.save(str(tmp_path / "saved"), cluster=cluster)
    folder = tmp_path / "saved" / saved.folder.rsplit("/", 1)[-1]
    size = sum(file.stat().st_size for file in folder.iterdir())
    [planned] = ptf.plan(model, dataset, shards=2).shards
    assert planned.checkpoint_bytes.value == pytest.approx(size, rel=0.03)


def test_ids_are_as_wide_as_their_differences():
    far = np.arange(1_000) * 2**50
    near = np.arange(1_000) - 500
    assert wire.id_width(near, "float32") == 8
    assert wire.id_width(near, "int8") == 2
    assert wire.id_width(far, "int8") == 8
    assert wire.ids_bytes(near, "int8") == 8 + 2_000
    assert wire.ids_bytes(np.array([], np.int64), "int8") == 0


def test_an_even_load_is_the_mean():
    assert over_mean(np.zeros(3)) == 1
    assert over_mean(np.array([1.0, 3.0])) == 1.5
