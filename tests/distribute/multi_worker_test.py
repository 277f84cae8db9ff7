"""Several worker processes train one model, whose rows are in two shards."""

import numpy as np
import programs
import pytest

from persia_tf._keras import IS_KERAS_3

COMMON = programs.preamble() + programs.MODEL

OWN_DATA = """
size = 160 + 40 * INDEX
with strategy.scope():
    model = make_model()

    def own_data(context):
        assert context.input_pipeline_id == INDEX
        rows = np.arange(size) % len(ids)
        return ptf.data.prefetch(batches(ids[rows], labels[rows], size=8), model, 2)

    model.fit(
        strategy.distribute_datasets_from_function(own_data), verbose=0, STEPS
    )
ptf.flush()
metrics = ptf.metrics()
assert metrics["gradients_discarded"] == 0, metrics
assert metrics["prefetch_hits"] > 0, metrics
say(updates=metrics["updates"], weights=[w.tolist() for w in model.get_weights()])
"""


@pytest.mark.slow
@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras asks for a number of steps")
def test_data_may_end_at_different_steps(run_workers):
    program = COMMON + OWN_DATA.replace("STEPS", "epochs=1")
    first, second = [ended.result() for ended in run_workers(program)]
    assert (first["updates"], second["updates"]) == (20, 25)
    assert first["weights"] == second["weights"]


@pytest.mark.slow
def test_steps_may_be_counted(run_workers):
    program = COMMON + OWN_DATA.replace("STEPS", "steps_per_epoch=10, epochs=2")
    first, second = [ended.result() for ended in run_workers(program)]
    assert first["updates"] == second["updates"] == 20
    assert first["weights"] == second["weights"]


IN_STEP = """
workers = strategy.num_replicas_in_sync


def trained(table, ahead):
    before = ptf.metrics()["updates"]
    with strategy.scope():
        model = make_model(STALENESS, table)

        def own_data(context):
            own = batches(ids[:80], labels[:80], size=16 // workers)
            own = own.shard(workers, INDEX).repeat()
            return ptf.data.prefetch(own, model, staleness=0) if ahead else own

        model.fit(
            strategy.distribute_datasets_from_function(own_data),
            steps_per_epoch=5,
            epochs=6,
            verbose=0,
        )
        # Its metrics are of all workers, once all are here.
        model.evaluate(ids, labels, batch_size=16, verbose=0)
    metrics = ptf.metrics()
    assert metrics["updates"] - before == 30, metrics
    assert metrics["staleness_max"] == 0, metrics
    rows = ptf.Table(table, make_cluster(STALENESS)).lookup(np.arange(30))
    dense = [w.tolist() for w in model.get_weights() if w.size]
    return {"rows": rows.tolist(), "dense": dense}


results = {"prefetched": trained("prefetched", True)}
if STALENESS == 0:  # Else it would miss steps of its own.
    results["plain"] = trained("plain", False)
say(**results)
"""


@pytest.fixture
def of_one_worker_and_two(run_workers):
    """Trains; gives the results of one worker, and of two (which are equal)."""

    def run(staleness):
        program = COMMON + IN_STEP.replace("STALENESS", str(staleness))
        [alone] = [ended.result() for ended in run_workers(program, 1)]
        first, second = [ended.result() for ended in run_workers(program)]
        assert first == second
        return alone, first

    return run


def assert_close(first, second, tolerance):
    np.testing.assert_allclose(first["rows"], second["rows"], rtol=0, atol=tolerance)
    for one, other in zip(first["dense"], second["dense"]):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
    moved = np.abs(first["rows"]) - 0.05  # Rows begin within 0.05.
    assert moved.max() > 5 * tolerance


def test_two_workers_train_as_one_does(of_one_worker_and_two):
    alone, together = of_one_worker_and_two(staleness=0)
    assert_close(alone["plain"], together["plain"], 1e-6)
    assert_close(alone["prefetched"], together["prefetched"], 1e-6)


@pytest.mark.slow
def test_a_stage_may_miss_the_other_workers_last_step(of_one_worker_and_two):
    alone, together = of_one_worker_and_two(staleness=4)
    assert_close(alone["prefetched"], together["prefetched"], 2e-2)
