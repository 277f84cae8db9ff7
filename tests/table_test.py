"""ptf.Table: rows are read, written and exported outside of training."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf import errors
from persia_tf.client.session import TableSettings

ADAGRAD = "adagrad(epsilon=1e-07,initial_accumulator_value=0.1)"


@pytest.fixture
def make(cluster, table):
    """Makes a table without a layer; gives its `ptf.Table`."""

    def make(dim=4, optimizer=ADAGRAD, **settings):
        cluster.create_table(
            table,
            TableSettings(
                dim=dim,
                initializer="ones",
                optimizer=optimizer,
                seed=0,
                **settings,
            ),
        )
        return ptf.Table(table, cluster)

    return make


def vectors(count, dim=4, seed=0):
    return np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)


def train_a_step(table, cluster, ids, optimizer="adagrad"):
    """Trains one step of SGD on the loss sum(row); returns the layer."""
    import tensorflow as tf

    from persia_tf._keras import keras

    layer = ptf.layers.PersiaEmbedding(
        *(4,),
        table=table,
        cluster=cluster,
        optimizer=optimizer,
        embeddings_initializer="ones",
    )
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant(ids, tf.int64), training=True))
    weights = layer.trainable_variables
    keras.optimizers.SGD().apply_gradients(zip(tape.gradient(loss, weights), weights))
    return layer


# ---- Reading.


def test_lookup_gives_rows_in_the_order_of_ids_and_zeros_where_there_is_none(make):
    rows = make()
    rows.assign([3, -(2**63), 2**63 - 1], [[1] * 4, [2] * 4, [3] * 4])
    found = rows.lookup([2**63 - 1, 5, 3, 3, -(2**63)])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.outer([3, 0, 1, 1, 2], np.ones(4)))


def test_lookup_creates_nothing(make):
    rows = make()
    rows.lookup(np.arange(100))
    assert len(rows) == 0


def test_lookup_of_no_ids_gives_no_rows(make):
    assert make(dim=7).lookup([]).shape == (0, 7)


def test_lookup_of_more_than_one_request_takes(make, monkeypatch):
    monkeypatch.setattr("persia_tf.table._REQUEST_BYTES", 1000)
    rows = make()
    values = vectors(500)
    rows.assign(np.arange(500), values)
    np.testing.assert_array_equal(rows.lookup(np.arange(500)), values)
    assert rows.remove(np.arange(500)) == 500


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1.5], "`ids` must be integers.*float64"),
        (["a"], "`ids` must be integers"),
        ([[1]], r"`ids` must be of rank 1.*\(1, 1\)"),
        (7, "`ids` must be of rank 1"),
        (np.array([2**63], np.uint64), "`ids` must fit int64.*9223372036854775808"),
    ],
)
def test_ids_that_are_none_are_refused(make, ids, message):
    rows = make()
    for call in (rows.lookup, rows.remove, lambda ids: rows.assign(ids, [[0] * 4])):
        with pytest.raises(ValueError, match=message):
            call(ids)


def test_dim_is_the_tables(make):
    assert make(dim=7).dim == 7


def test_namespaces_are_kept_apart(table, start_shards):
    addresses = [shard.address for shard in start_shards(2)]
    settings = TableSettings(2, "ones", "sgd", 0)
    first, second = (ptf.Cluster(addresses, namespace=name) for name in "ab")
    for cluster in (first, second):
        cluster.create_table(table, settings)
    ptf.Table(table, first).assign([1], [[5, 6]])
    assert (len(ptf.Table(table, first)), len(ptf.Table(table, second))) == (1, 0)
    with pytest.raises(errors.NotFoundError, match=f"'{table}'.*'a/{table}'"):
        len(ptf.Table(table, ptf.Cluster(addresses)))


# ---- Writing.


def test_assign_then_lookup(make):
    rows = make()
    ids, values = np.arange(-500, 500), vectors(1000)
    rows.assign(ids, values)
    assert len(rows) == 1000
    np.testing.assert_array_equal(rows.lookup(ids), values)


def test_assign_overwrites(make):
    rows = make()
    rows.assign([1, 2], [[1] * 4, [2] * 4])
    rows.assign([2], [[9] * 4])
    assert len(rows) == 2
    np.testing.assert_array_equal(rows.lookup([1, 2])[:, 0], [1, 9])


def test_assign_takes_other_numbers_and_layouts(make):
    rows = make(dim=2)
    rows.assign(np.array([1, 2], np.int32), np.asfortranarray([[1.5, 2.5], [3, 4]]))
    np.testing.assert_array_equal(rows.lookup([1, 2]), [[1.5, 2.5], [3, 4]])
    rows.assign(np.arange(8)[::4], np.arange(8).reshape(4, 2)[::2])
    np.testing.assert_array_equal(rows.lookup([0, 4]), [[0, 1], [4, 5]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 2, 3]], r"\(2, 4\).*\(1, 3\)"),
        ([1, 2], r"\(2, 4\).*\(2,\)"),
        ([["a"] * 4] * 2, "must be numbers"),
        ([[0] * 4, [0, np.nan, 0, 0]], r"must be finite.*nan at \(1, 1\)"),
        ([[0, 0, 0, 1e39], [0] * 4], r"must be finite.*1e\+39 at \(0, 3\)"),
    ],
)
def test_rows_that_do_not_belong_to_the_ids_are_refused(make, values, message):
    rows = make()
    with pytest.raises(ValueError, match=f"`rows` must.*{message}|{message}"):
        rows.assign([1, 2], values)
    assert len(rows) == 0


def test_an_id_that_is_assigned_twice_is_refused(make):
    rows = make()
    with pytest.raises(ValueError, match="`ids` must be unique.*id 7 more than once"):
        rows.assign([7, 1, 7], vectors(3))
    assert len(rows) == 0


def test_remove_counts_the_rows_that_there_were(make):
    rows = make()
    rows.assign(np.arange(100), vectors(100))
    assert rows.remove([5, 5000, 99]) == 2
    assert rows.remove([5, 5000, 99]) == 0
    assert len(rows) == 98
    assert not rows.lookup([5, 99]).any()
    assert rows.remove([]) == 0


def test_assign_beyond_the_capacity_evicts(make, cluster):
    rows = make(capacity="rows(count=1000)", eviction="lru")
    rows.assign(np.arange(5000), vectors(5000))
    assert 900 <= len(rows) <= 1000
    parts = [part for each in cluster.stats() for part in each.tables]
    gone = sum(part.evictions for part in parts if part.name == rows.name)
    assert gone == 5000 - len(rows)


def test_assign_passes_by_admission(make):
    rows = make(admission="min_count(count=3)")
    rows.assign([1], [[7] * 4])
    np.testing.assert_array_equal(rows.lookup([1]), [[7] * 4])


@pytest.mark.parametrize("optimizer", ["sgd", ADAGRAD, "adam"])
def test_rows_are_assigned_with_state_as_exported(make, cluster, optimizer, rows_of):
    rows = make(optimizer=optimizer)
    rows.assign(np.arange(100), vectors(100))
    expected = {}
    for batch in list(rows.export()):
        state = vectors(*batch.state.shape, seed=1)
        rows.assign(batch.ids, -batch.rows, state)
        both = np.concatenate([-batch.rows, state], axis=1)
        expected.update(zip(batch.ids.tolist(), both))
    found = rows_of(rows.name, cluster)
    np.testing.assert_array_equal(
        [found[row_id] for row_id in range(100)],
        [expected[row_id] for row_id in range(100)],
    )


def test_state_of_another_size_is_refused(make):
    rows = make(optimizer="adam")
    with pytest.raises(errors.InvalidArgumentError, match="9 numbers of optimizer"):
        rows.assign([1, 2], vectors(2), vectors(2))
    with pytest.raises(ValueError, match=r"`state` must have the shape.*\(2,"):
        rows.assign([1, 2], vectors(2), vectors(1, 9))
    assert len(rows) == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e39])
def test_state_that_is_not_finite_is_refused(make, value):
    rows = make(optimizer="adam")
    state = np.zeros((2, 9))
    state[1, 3] = value
    with pytest.raises(ValueError, match=r"`state` must be finite.*\(1, 3\)"):
        rows.assign([1, 2], vectors(2), state)
    assert len(rows) == 0


# ---- Walking.


def test_export_gives_every_row_once_in_batches_of_the_size_asked(make):
    rows = make()
    ids, values = np.arange(10_000) * 7919, vectors(10_000)
    rows.assign(ids, values)
    batches = list(rows.export(batch_size=100))
    assert max(len(batch.ids) for batch in batches) <= 100
    exported = np.concatenate([batch.ids for batch in batches])
    assert exported.dtype == np.int64
    order = np.argsort(exported)
    np.testing.assert_array_equal(exported[order], ids)
    both = np.concatenate([batch.rows for batch in batches])[order]
    np.testing.assert_array_equal(both, values)


def test_export_asks_for_a_batch_only_when_it_is_taken(make, monkeypatch):
    rows = make()
    rows.assign(np.arange(10_000), vectors(10_000))
    taken = []
    take = ptf.table._take
    monkeypatch.setattr(
        "persia_tf.table._take", lambda page: taken.append(1) or take(page)
    )
    batches = rows.export(batch_size=1000)
    next(batches)
    first = len(taken)
    assert first >= 1
    count = sum(len(batch.ids) for batch in batches)
    assert len(taken) > first
    assert count < 10_000


def test_export_gives_rows_that_stay_once_while_others_come_and_go(make):
    rows = make()
    rows.assign(np.arange(5000), vectors(5000))
    batches = rows.export(batch_size=500)
    exported = [next(batches).ids]
    rows.assign(np.arange(10_000, 40_000), vectors(30_000))
    rows.remove(np.arange(4000, 5000))
    exported = np.concatenate(exported + [batch.ids for batch in batches])
    assert len(np.unique(exported)) == len(exported)
    assert np.isin(np.arange(4000), exported).all()


@pytest.mark.parametrize(
    ("optimizer", "state_size", "value"),
    [("sgd", 0, None), (ADAGRAD, 4, np.float32(0.1)), ("adam", 9, 0)],
)
def test_state_of_assigned_rows_is_a_new_rows(make, optimizer, state_size, value):
    rows = make(optimizer=optimizer)
    rows.assign(np.arange(10), vectors(10))
    state = np.concatenate([batch.state for batch in rows.export()])
    assert state.shape == (10, state_size)
    assert (state == value).all()


def test_export_of_an_empty_table_gives_nothing(make):
    assert list(make().export()) == []


@pytest.mark.parametrize("batch_size", [1.5, True, None, "9"])
def test_export_takes_integers_as_batch_size(make, batch_size):
    with pytest.raises(TypeError, match="`batch_size` must be an integer from 1 to"):
        make().export(batch_size)


def test_a_table_is_true_though_it_is_empty_or_not_there():
    assert ptf.Table("no_such_table")


@pytest.mark.parametrize("batch_size", [0, -1, 2**20 + 1, 10**20])
def test_export_of_no_rows_or_too_many_at_once_is_refused(make, batch_size):
    with pytest.raises(ValueError, match=f"`batch_size`.*batch_size={batch_size}"):
        make().export(batch_size)


# ---- Together with training.


def test_what_was_trained_is_seen_at_once(cluster, table):
    train_a_step(table, cluster, [1, 2, 2], optimizer=ptf.optimizers.SGD(0.5))
    rows = ptf.Table(table, cluster)
    assert len(rows) == 2
    np.testing.assert_array_equal(rows.lookup([1, 2])[:, 0], [0.5, 0])
    ((ids, values, state),) = rows.export()
    np.testing.assert_array_equal(values[np.argsort(ids)][:, 0], [0.5, 0])
    assert state.shape == (2, 0)


def test_exported_state_is_adagrads_accumulator(cluster, table):
    train_a_step(table, cluster, [1, 2, 2])
    batches = list(ptf.Table(table, cluster).export())
    ids = np.concatenate([batch.ids for batch in batches])
    state = np.concatenate([batch.state for batch in batches])
    # 0.1 at first, plus the squares of the summed gradients, which are 1 and 2.
    np.testing.assert_allclose(
        state[np.argsort(ids)], np.outer([1.1, 4.1], np.ones(4)), rtol=1e-6
    )


def test_training_goes_on_from_assigned_rows(cluster, table):
    optimizer = ptf.optimizers.SGD(0.5)
    layer = train_a_step(table, cluster, [1], optimizer=optimizer)
    rows = ptf.Table(table, cluster)
    rows.assign([1, 2], [[10] * 4, [20] * 4])
    np.testing.assert_array_equal(np.array(layer(np.array([2])))[0], [20] * 4)
    train_a_step(table, cluster, [1, 2], optimizer=optimizer)
    np.testing.assert_array_equal(rows.lookup([1, 2])[:, 0], [9.5, 19.5])


def test_removed_rows_are_begun_anew_by_training(cluster, table):
    optimizer = ptf.optimizers.SGD(0.5)
    layer = train_a_step(table, cluster, [1, 2], optimizer=optimizer)
    assert ptf.Table(table, cluster).remove([1]) == 1
    ids = np.array([1, 2])
    np.testing.assert_array_equal(np.array(layer(ids))[:, 0], [0, 0.5])
    np.testing.assert_array_equal(np.array(layer(ids, training=True))[:, 0], [1, 0.5])


def test_stats_count_the_lookups_that_found_a_row(cluster, table):
    layer = train_a_step(table, cluster, range(10))
    layer(np.arange(30))
    parts = [part for each in cluster.stats() for part in each.tables]
    parts = [part for part in parts if part.name == table]
    assert sum(part.rows_looked_up for part in parts) == 40
    assert sum(part.rows_found for part in parts) == 10
    assert all(part.rows <= part.index_slots for part in parts)


# ---- Failures.


def test_a_table_that_is_not_there_is_not_found_by_name(cluster):
    rows = ptf.Table("no_such_table", cluster)
    for call in (
        lambda: len(rows),
        lambda: rows.dim,
        lambda: rows.lookup([1]),
        lambda: rows.assign([1], [[1]]),
        lambda: rows.remove([1]),
        lambda: rows.export(),
    ):
        with pytest.raises(errors.NotFoundError, match="no table 'no_such_table'"):
            call()


def test_a_shard_that_lost_the_table_is_named(table, start_shards):
    shards = start_shards(2)
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=20)
    cluster.create_table(table, TableSettings(2, "ones", "sgd", 0))
    shards[1].stop()
    shards[1].start(shards[1].port)
    with pytest.raises(errors.NotFoundError, match=f"{table}.*{shards[1].address}"):
        len(ptf.Table(table, cluster))


def test_a_shard_that_is_down_is_named(table, start_shards):
    shards = start_shards(2)
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=1)
    cluster.create_table(table, TableSettings(2, "ones", "sgd", 0))
    rows = ptf.Table(table, cluster)
    rows.assign(np.arange(100), np.ones((100, 2)))
    batches = rows.export(batch_size=10)
    next(batches)
    shards[1].stop()
    with pytest.raises(errors.PersiaError, match=shards[1].address):
        list(batches)


def test_tables_need_no_tensorflow(run_python):
    program = """
import sys
import persia_tf as ptf
from persia_tf.client.session import TableSettings
cluster = ptf.Cluster.embedded()
cluster.create_table("t", TableSettings(2, "ones", "sgd", 0))
table = ptf.Table("t")
table.assign([1], [[2, 3]])
print(table.lookup([1]).tolist(), len(table), [b.ids.tolist() for b in table.export()])
print(sorted({"keras", "tensorflow", "tf_keras"} & set(sys.modules)))
"""
    assert run_python(program).splitlines() == ["[[2.0, 3.0]] 1 [[1]]", "[]"]


# ---- Uses.


def test_export_tells_how_rows_were_used(make):
    table = make(eviction="ttl(steps=100.0)")
    table.assign([1, 2], vectors(2))
    table.assign([2], vectors(1))
    [batch] = table.export(uses=True)
    assert batch.time == "steps" and batch.ages.dtype == np.uint32
    counts = dict(zip(batch.ids, batch.counts))
    assert counts == {1: 1, 2: 2} and not batch.ages.any()
    assert batch.rows.shape == batch.state.shape == (2, 4)


def test_uses_go_along_with_their_rows_in_small_batches(make):
    table = make(eviction="ttl(seconds=100.0)")
    for count in range(1, 6):
        table.assign(np.arange(count), vectors(count))
    batches = list(table.export(2, uses=True))
    assert {batch.time for batch in batches} == {"seconds"}
    counts = {i: n for batch in batches for i, n in zip(batch.ids, batch.counts)}
    assert counts == {0: 5, 1: 4, 2: 3, 3: 2, 4: 1}


def test_uses_of_a_table_that_notes_none_are_refused(make):
    table = make()
    table.assign([1], vectors(1))
    with pytest.raises(errors.FailedPreconditionError, match="not record.*capacity"):
        list(table.export(uses=True))
