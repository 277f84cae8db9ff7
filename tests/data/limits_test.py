"""What unused lookups leave behind, and pipelines in which `prefetch` is refused."""

import gc

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf

BATCH = 8


@pytest.fixture
def new_ids():
    """10 batches of ids from 1 on, in which no id comes twice."""
    ids = np.arange(1, 10 * BATCH * 3 + 1).reshape(10 * BATCH, 3)
    labels = np.ones((10 * BATCH, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((ids, labels)).batch(BATCH)


def test_rows_looked_up_ahead_are_created(
    new_ids, make_model, table, cluster, rows_of, wait_until
):
    model = make_model()
    iterator = iter(ptf.data.prefetch(new_ids, model, staleness=2))
    model.train_on_batch(*next(iterator))
    stepped = BATCH * 3
    wait_until(lambda: len(ptf.Table(table, cluster=cluster)) > stepped)
    del iterator
    gc.collect()
    ptf.flush()
    ids, rows = rows_of()
    assert (rows[ids <= stepped] != 1).any(axis=1).all()
    np.testing.assert_array_equal(rows[ids > stepped], 1)


def test_an_iterator_cannot_be_saved(new_ids, make_model, tmp_path):
    iterator = iter(ptf.data.prefetch(new_ids, make_model()))
    next(iterator)
    with pytest.raises(tf.errors.FailedPreconditionError, match="stateful"):
        tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "checkpoint"))


def test_behind_the_tf_data_service_lookups_run_ahead(
    new_ids, make_model, count, one_ahead
):
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    address = dispatcher.target.split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    remote = new_ids.apply(
        service.distribute(processing_mode="parallel_epochs", service=dispatcher.target)
    )
    model = make_model()
    passed = count()
    prefetched = ptf.data.prefetch(remote, model)
    model.fit(prefetched, verbose=0, callbacks=[one_ahead(passed)])
    del worker
    assert passed["training_lookups"] == 10
    assert passed["prefetch_hits"] > 0
