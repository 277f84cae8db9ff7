"""Changes that shards tell, applied to tables, which are dicts in these tests."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf.following import ChangedTable, Changes, slots_of
from persia_tf.serving.changed_tables import ChangedTables

DIM = 2
ALL = np.ones(2**14, bool)
SOME = np.arange(2**14) % 3 == 1  # The slots of one of several shards.


class DictTable:
    """Rows by id; each row is one number."""

    dim = DIM

    def __init__(self, **rows):
        self.rows = {int(key[1:]): value for key, value in rows.items()}

    def set(self, ids, rows):
        assert rows.shape == (len(ids), DIM) and len(ids)
        self.rows.update(zip(ids.tolist(), rows[:, 0].tolist()))

    def erase(self, ids):
        for row_id in ids.tolist():
            self.rows.pop(row_id, None)

    def ids(self):
        return np.array(list(self.rows), np.int64)


def told(rows=(), erased=(), name="t", dim=DIM, fate="stays"):
    """The changes of one table in a shard's answer; weights are one number."""
    rows = dict(rows)
    weights = np.repeat(np.array(list(rows.values()), np.float32), dim)
    return ChangedTable(
        *(name, dim, "float32", np.array(list(rows), np.int64)),
        *(weights.reshape(-1, dim), np.array(erased, np.int64)),
        fate=fate,
    )


def changes(
    *tables, begins="on", complete=True, slots=ALL, new=None, epoch=1, cluster=0
):
    if new is None:
        new = slots if begins == "whole" else ~ALL
    epochs = slots * np.uint32(epoch)
    return Changes(begins, complete, list(tables), epochs, new, cluster)


@pytest.fixture
def table():
    return DictTable(_1=1.0, _2=2.0, _3=3.0)


@pytest.fixture
def shard(table):
    """The only one."""
    return ChangedTables({"t": table}).of_shard()


def test_rows_that_changed_are_set_and_those_that_went_are_erased(table, shard):
    counts = shard.apply(changes(told({2: 20.0, 4: 40.0}, erased=[1, 9])))
    assert table.rows == {2: 20.0, 3: 3.0, 4: 40.0}
    assert counts == (2, 2)


def test_tables_that_the_model_has_not_are_passed_over(table, shard):
    before = dict(table.rows)
    assert shard.apply(changes(told({2: 20.0}, name="other"))) == (0, 0)
    assert table.rows == before


def test_a_table_that_was_cleared_has_what_came_after_alone(table, shard):
    assert shard.apply(changes(told({2: 20.0}, fate="cleared"))) == (1, 3)
    assert table.rows == {2: 20.0}


def test_a_table_that_was_dropped_has_no_rows(table, shard):
    # Its width does not matter.
    assert shard.apply(changes(told(dim=9, fate="dropped"))) == (0, 3)
    assert table.rows == {}


def test_rows_of_other_shards_stay_when_one_says_that_it_dropped_the_table():
    ids = np.arange(100)
    table = DictTable()
    table.rows = dict.fromkeys(ids.tolist(), 1.0)
    shard = ChangedTables({"t": table}).of_shard()
    shard.apply(changes(told(fate="dropped"), slots=SOME))
    assert sorted(table.rows) == ids[~SOME[slots_of(ids)]].tolist()


def test_a_table_that_was_cleared_while_all_was_told_is_told_from_there(table, shard):
    shard.apply(changes(told({1: 10.0}), begins="whole", complete=False))
    shard.apply(changes(told({2: 20.0}, fate="cleared")))
    assert table.rows == {2: 20.0}


def test_rows_that_a_shard_told_all_without_are_erased_once_it_has(table, shard):
    shard.apply(changes(told({2: 20.0}), begins="whole", complete=False))
    assert table.rows == {1: 1.0, 2: 20.0, 3: 3.0}
    counts = shard.apply(changes(told({4: 40.0})))
    assert table.rows == {2: 20.0, 4: 40.0}
    assert counts == (1, 2)


def test_rows_of_other_shards_stay():
    ids = np.arange(100)
    table = DictTable()
    table.rows = dict.fromkeys(ids.tolist(), 1.0)
    shard = ChangedTables({"t": table}).of_shard()
    shard.apply(changes(told(), begins="whole", slots=SOME))
    assert sorted(table.rows) == ids[~SOME[slots_of(ids)]].tolist()
    assert 0 < len(table.rows) < 100


def test_a_shard_that_begins_anew_halfway_has_told_nothing_before(table, shard):
    shard.apply(changes(told({2: 20.0}), begins="whole", complete=False))
    shard.apply(changes(told({3: 30.0}), begins="whole"))
    assert table.rows == {3: 30.0}


def test_what_changed_since_a_save_erases_nothing_else(table, shard):
    shard.apply(changes(told({2: 20.0}), begins="whole", complete=False))
    shard.apply(changes(told({3: 30.0}), begins="save"))
    assert table.rows == {1: 1.0, 2: 20.0, 3: 30.0}


def test_once_all_was_told_later_changes_erase_only_what_they_say(table, shard):
    shard.apply(changes(told({1: 10.0}), begins="whole"))
    shard.apply(changes(told({2: 20.0})))
    assert table.rows == {1: 10.0, 2: 20.0}


def test_rows_of_another_size_are_refused_before_anything_changes(table, shard):
    before = dict(table.rows)
    with pytest.raises(ptf.errors.FailedPreconditionError, match="3 weights.*of 2"):
        shard.apply(changes(told({2: 20.0}, dim=3)))
    assert table.rows == before


def test_tables_that_a_shard_did_not_tell_of_stay(table):
    other = DictTable(_5=5.0)
    shard = ChangedTables({"t": table, "other": other}).of_shard()
    assert shard.apply(changes(begins="whole")) == (0, 0)
    assert sorted(table.rows) == [1, 2, 3]
    # The shard has table "t" again, and tells all of its rows.
    shard.apply(changes(told({2: 20.0}), complete=False))
    assert sorted(table.rows) == [1, 2, 3]
    shard.apply(changes(told({4: 40.0})))
    assert (table.rows, other.rows) == ({2: 20.0, 4: 40.0}, {5: 5.0})


def ids_in(slots, count=100):
    """Some ids with slots among these."""
    ids = np.arange(100 * count)
    return ids[slots[slots_of(ids)]][:count].tolist()


@pytest.fixture
def two_shards(table):
    """Both tell of the same table, which has rows of the first one's slots."""
    table.rows = dict.fromkeys(ids_in(SOME), 1.0)
    changed = ChangedTables({"t": table})
    return changed.of_shard(), changed.of_shard()


def test_a_slots_new_owner_tells_all_its_rows_and_others_are_erased(table, two_shards):
    former, owner = two_shards
    first, second, *others = ids_in(SOME)
    former.apply(changes(told({first: 2.0}), slots=SOME))
    moved = changes(told({first: 3.0}), slots=SOME, new=SOME, epoch=2, complete=False)
    owner.apply(moved)
    assert table.rows == {first: 3.0, second: 1.0, **dict.fromkeys(others, 1.0)}
    owner.apply(changes(told({second: 4.0}), slots=SOME, new=SOME, epoch=2))
    assert table.rows == {first: 3.0, second: 4.0}


def test_a_late_reply_of_a_former_owner_changes_nothing(table, two_shards):
    former, owner = two_shards
    first, second, third, *_ = ids_in(SOME)
    owner.apply(changes(told({first: 3.0, second: 4.0}), slots=SOME, new=SOME, epoch=2))
    late = changes(told({first: 2.0, third: 2.0}, erased=[second]), slots=SOME)
    former.apply(late)
    former.apply(changes(told(fate="cleared"), slots=SOME))
    former.apply(changes(told(), begins="whole", slots=SOME))
    assert table.rows == {first: 3.0, second: 4.0}


def test_what_was_told_before_a_slot_went_and_came_back_does_not_count(table, shard):
    told_of = [changes(told({2: 20.0}), new=ALL, complete=False)]
    told_of += [changes(told({3: 30.0}), new=ALL, epoch=3)]
    for each in told_of:
        shard.apply(each)
    assert table.rows == {3: 30.0}


def test_a_table_that_has_no_rows_in_new_slots_loses_those_of_the_copy(table, shard):
    shard.apply(changes(told({1: 10.0}), begins="whole"))
    shard.apply(changes(slots=~ALL))
    table.rows = {1: 10.0, 5: 5.0}
    shard.apply(changes(new=ALL, epoch=3))
    assert table.rows == {}


def test_another_cluster_takes_the_place_of_one_whose_rows_are_gone(table, two_shards):
    former, owner = two_shards
    first = ids_in(SOME)[0]
    former.apply(changes(told({first: 2.0}), slots=SOME, epoch=9, cluster=4))
    owner.apply(changes(told({first: 3.0}), begins="whole", slots=SOME, cluster=5))
    assert table.rows == {first: 3.0}
    former.apply(changes(told({first: 2.0}), slots=SOME, epoch=9, cluster=4))
    assert table.rows == {first: 3.0}
