"""persia_tf.following: copies that get the changes of rows in shards."""

import ctypes

import numpy as np
import pytest
from followed_copy import FollowedCopy

import persia_tf as ptf
from persia_tf import errors, following
from persia_tf.client.session import TableSettings
from persia_tf.native import capi
from persia_tf.serving.changed_tables import ChangedTables


class ModelTable:
    """The table of a model, whose rows begin as ones."""

    dim = 4

    def __init__(self, ids):
        self.rows = dict.fromkeys(ids.tolist(), 1.0)

    def set(self, ids, rows):
        self.rows.update(zip(ids.tolist(), rows[:, 0].tolist()))

    def erase(self, ids):
        for row_id in ids.tolist():
            self.rows.pop(row_id, None)

    def ids(self):
        return np.array(list(self.rows), np.int64)


def exported(table, cluster):
    """A table's rows by id."""
    rows = {}
    for page in ptf.Table(table, cluster).export():
        rows.update(zip(page.ids.tolist(), page.rows.tolist()))
    return rows


def make(table, cluster, dim=4, **settings):
    cluster.create_table(table, TableSettings(dim, "uniform", "adagrad", 0, **settings))
    return ptf.Table(table, cluster)


def copy_of(cluster):
    return FollowedCopy(cluster, max(1, len(cluster.shards)))


@pytest.fixture
def shards(start_shards):
    """Makes clusters with a number of shards."""

    def make(count):
        addresses = [shard.address for shard in start_shards(count)]
        return ptf.Cluster(addresses, timeout=20)

    return make


def train(table, cluster, steps=20, **options):
    """Trains a layer on ids that come and go; yields after each step."""
    from persia_tf._keras import keras

    inputs = keras.Input(shape=(8,), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(
        4, table=table, cluster=cluster, combiner="sum", **options
    )
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    model.compile("adam", "mse")
    draw = np.random.default_rng(3)
    for step in range(steps):
        ids = draw.integers(20 * step, 20 * step + 200, size=(16, 8))
        model.train_on_batch(ids, np.ones((16, 1), "float32"))
        yield


@pytest.mark.parametrize("row_dtype", ["float32", "float16", "bfloat16", "int8"])
def test_a_copy_is_equal_once_training_with_eviction_stops(cluster, table, row_dtype):
    copy = copy_of(cluster)
    for _ in train(table, cluster, capacity=150, row_dtype=row_dtype):
        for shard in range(len(copy.followers)):
            copy.poll(shard, max_rows=50)
    cluster.flush()
    copy.catch_up(max_rows=50)
    assert copy.rows[table] == exported(table, cluster)
    assert len(copy.rows[table]) > 100
    assert copy.dtypes[table].startswith(row_dtype)
    assert copy.catch_up() == 0


@pytest.mark.parametrize("count", [1, 3])
def test_rows_that_are_set_and_removed_are_told(shards, table, count):
    cluster = shards(count)
    rows = make(table, cluster)
    rows.assign(np.arange(1000), np.ones((1000, 4)))
    copy = copy_of(cluster)
    assert copy.catch_up(max_rows=100) == 1000
    rows.assign([1, 2000], [[1, 2, 3, 4], [5, 6, 7, 8]])
    rows.remove([5, 6, 7, 99999])
    assert copy.catch_up() == 5
    assert copy.rows[table] == exported(table, cluster)
    assert copy.rows[table][2000] == [5, 6, 7, 8]
    assert copy.beginnings == [["whole"]] * count


def test_a_table_of_no_rows_is_told_once(cluster, table):
    copy = copy_of(cluster)
    copy.catch_up()
    make(table, cluster, dim=7)
    changes = copy.poll(0)
    assert [(t.name, t.dim, t.rows.shape) for t in changes.tables] == [
        (table, 7, (0, 7))
    ]
    assert copy.poll(0).tables == []


def test_tables_that_are_cleared_or_dropped_are_told_of(cluster, table):
    rows, other = make(table, cluster), make(f"{table}_b", cluster)
    for each in (rows, other):
        each.assign(np.arange(20), np.ones((20, 4)))
    copy = copy_of(cluster)
    copy.catch_up()
    rows.clear()
    rows.assign([3], [[2] * 4])
    other.drop()
    told = {}
    for shard in range(len(copy.followers)):
        told.update({each.name: each.fate for each in copy.poll(shard).tables})
    assert told == {table: "cleared", f"{table}_b": "dropped"}
    assert copy.rows[table] == exported(table, cluster)
    assert copy.rows[f"{table}_b"] == {}


def test_a_position_that_is_given_back_goes_on(cluster, table):
    rows = make(table, cluster)
    rows.assign([1], [[1] * 4])
    copy = copy_of(cluster)
    copy.catch_up()
    position = copy.followers[0].position
    assert position.version > 0
    rows.assign(np.arange(50), np.ones((50, 4)))
    again = following.ShardFollower(cluster.session, 0, position)
    changes = again.poll()
    assert changes.begins == "on"
    assert changes.complete
    assert again.position == position._replace(version=position.version + 1)
    # As if the answer had been lost.
    repeated = following.ShardFollower(cluster.session, 0, position).poll()
    (first,), (second,) = changes.tables, repeated.tables
    assert set(first.ids) == set(second.ids)


def test_one_that_has_a_checkpoint_is_told_what_changed_since(
    start_shards, table, tmp_path
):
    [shard] = start_shards(1, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address], timeout=20)
    rows = make(table, cluster)
    rows.assign(np.arange(100), np.ones((100, 4)))
    ptf.checkpoint.save("one", cluster=cluster)
    copy = copy_of(cluster)
    copy.catch_up()
    save = copy.followers[0].position.base_save
    assert save != 0
    rows.assign([3], [[9] * 4])
    rows.remove([4])
    later = following.ShardFollower(
        cluster.session, 0, following.Position(99, base_save=save)
    )
    told = [later.poll(), later.poll()]
    assert [changes.begins for changes in told] == ["save", "on"]
    assert told[1].complete
    tables = [changed for changes in told for changed in changes.tables]
    assert [row_id for changed in tables for row_id in changed.ids] == [3]
    assert [row_id for changed in tables for row_id in changed.erased] == [4]


def test_a_restore_begins_anew(start_shards, table, tmp_path):
    [shard] = start_shards(1, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address], timeout=20)
    rows = make(table, cluster)
    rows.assign(np.arange(100), np.ones((100, 4)))
    ptf.checkpoint.save("one", cluster=cluster)
    rows.assign(np.arange(50, 200), np.zeros((150, 4)))
    copy = copy_of(cluster)
    copy.catch_up()
    ptf.checkpoint.restore("one", cluster=cluster)
    copy.catch_up()
    assert copy.beginnings == [["whole", "whole"]]
    assert copy.rows[table] == exported(table, cluster)


def test_a_shard_that_there_is_not_is_refused(cluster):
    beyond = max(1, len(cluster.shards))
    follower = following.ShardFollower(cluster.session, beyond)
    with pytest.raises(errors.InvalidArgumentError, match=f"received {beyond}"):
        follower.poll()
    assert follower.position.version == 0


@pytest.mark.parametrize("shard", [-1, 2**32, 1.0, None])
def test_shards_that_are_none_are_refused(cluster, shard):
    with pytest.raises((TypeError, ValueError), match="`shard`"):
        following.ShardFollower(cluster.session, shard)


@pytest.mark.parametrize("max_rows", [0, 2**24 + 1, 1.5])
def test_numbers_of_rows_that_are_none_are_refused(cluster, max_rows):
    follower = following.ShardFollower(cluster.session, 0)
    with pytest.raises((TypeError, ValueError), match="`max_rows`"):
        follower.poll(max_rows=max_rows)


def test_slots_of_ids_are_those_of_the_shard_that_has_their_rows(shards, table):
    cluster = shards(3)
    rows = make(table, cluster)
    ids = np.arange(200)
    rows.assign(ids, np.ones((200, 4)))
    slots = following.slots_of(ids)
    assert slots.dtype == np.uint32
    assert slots.max() < capi.SLOTS
    owners = np.zeros(capi.SLOTS, int)
    for shard in range(3):
        changes = following.ShardFollower(cluster.session, shard).poll()
        assert changes.slots.shape == (capi.SLOTS,)
        owners += changes.slots
        (changed,) = changes.tables
        assert sorted(changed.ids) == ids[changes.slots[slots]].tolist()
    assert (owners == 1).all()
    assert following.slots_of([]).shape == (0,)
    with pytest.raises(ValueError, match="`ids`"):
        following.slots_of([0.5])


def test_a_list_of_some_shards_is_of_the_whole_cluster(shards, table):
    cluster = shards(2)
    make(table, cluster).assign(np.arange(100), np.ones((100, 4)))
    for listed in cluster.shards:
        model = ModelTable(np.arange(200))
        changed = ChangedTables({table: model})
        one = ptf.Cluster([listed], timeout=20)
        for shard in range(2):
            told = following.ShardFollower(one.session, shard).poll()
            changed.of_shard().apply(told)
        assert sorted(model.rows) == list(range(100))


def test_one_that_begins_anew_again_and_again_takes_one_place(cluster, table):
    make(table, cluster).assign([1], [[1] * 4])
    follower = following.ShardFollower(cluster.session, 0)
    first = follower.position
    for _ in range(70):  # A shard has places for 64.
        assert follower.poll().begins == "whole"
        follower.begin_anew()
        assert follower.position == first


def test_one_that_is_closed_leaves_its_place(cluster, table):
    make(table, cluster).assign([1], [[1] * 4])
    for _ in range(70):  # A shard has places for 64.
        with following.ShardFollower(cluster.session, 0) as follower:
            assert follower.poll().begins == "whole"
    assert follower.poll().begins == "whole"
    follower.close()


def test_to_close_one_of_a_shard_that_is_away_raises_nothing(start_shards, table):
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], timeout=1)
    make(table, cluster)
    follower = following.ShardFollower(cluster.session, 0)
    follower.poll()
    shard.stop()
    follower.close()


def test_changes_that_could_not_be_copied_are_told_again(cluster, table, monkeypatch):
    rows = make(table, cluster)
    follower = following.ShardFollower(cluster.session, 0)
    while not follower.poll().complete:
        pass
    rows.assign(np.arange(100), np.ones((100, 4)))
    take = following._take

    def fail(handle):
        take(handle)
        raise MemoryError

    monkeypatch.setattr(following, "_take", fail)
    before = follower.position
    with pytest.raises(MemoryError):
        follower.poll()
    assert follower.position == before
    monkeypatch.setattr(following, "_take", take)
    changes = follower.poll()
    (changed,) = changes.tables
    owned = changes.slots[following.slots_of(np.arange(100))]
    assert sorted(changed.ids) == np.flatnonzero(owned).tolist()


def test_a_table_that_the_core_does_not_have_is_refused(cluster, table):
    make(table, cluster)
    handle = capi.ChangesHandle()
    position = capi.FollowPosition(1)
    native = capi.library()
    name = capi.utf8(cluster.session.name)
    native.persia_session_changes(
        *(name, 0, 0, ctypes.byref(position), 10), ctypes.byref(handle)
    )
    with pytest.raises(errors.InvalidArgumentError, match="`?table"):
        native.persia_changes_table(handle, -1, ctypes.byref(capi.ChangedTable()))
    native.persia_changes_free(handle)
