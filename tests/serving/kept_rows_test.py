"""Exports that leave out rows by their use."""

import json

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf.serving import kept_rows

TTL = ptf.eviction.TTL(steps=1000)


def use(model, *requests):
    """Makes training lookups, one after the other."""
    for ids in requests:
        model(tf.constant(ids, tf.int64), training=True)


def exported_ids(export):
    loaded = tf.saved_model.load(export.path)
    return sorted(loaded.tables[export.tables[0].name].ids().numpy())


@pytest.fixture
def used(one_table):
    """A model whose ids 1 to 4 were used equally often, and then id 9 once."""
    model, _ = one_table(eviction=TTL)
    use(model, [4], [3, 4], [2, 3, 4], [1, 2, 3, 4], [9])
    return model


@pytest.mark.parametrize("cluster", [0], indirect=True)
@pytest.mark.parametrize(
    ("rule", "ids", "left_out"),
    [
        ({"min_count": 3}, [3, 4], {"min_count": 3}),
        ({"within_steps": 1}, [9], {"within_steps": 4}),
        ({"within_steps": 2}, [1, 2, 3, 4, 9], {"within_steps": 0}),
        ({"top": 2}, [3, 4], {"top": 3}),
        ({"top": 4}, [1, 2, 3, 4], {"top": 1}),  # Of 1 and 9 the smaller id.
        ({"top": 2, "by": "recency"}, [1, 9], {"top": 3}),
        ({"top": 100}, [1, 2, 3, 4, 9], {"top": 0}),
        ({"min_count": 2, "top": 1}, [4], {"min_count": 2, "top": 2}),
        ({"min_count": 99}, [], {"min_count": 5}),
    ],
)
def test_rows_are_kept_by_their_use(used, path, rule, ids, left_out):
    export = ptf.serving.export(used, path, rows=ptf.serving.KeepRows(**rule))
    assert exported_ids(export) == ids
    [table] = export.tables
    assert (table.rows, table.left_out) == (len(ids), left_out)
    with open(f"{path}/assets.extra/persia_export.json") as file:
        assert json.load(file)["tables"][0]["left_out"] == left_out


@pytest.mark.parametrize("cluster", [2], indirect=True)
def test_shards_tell_of_uses(used, path):
    rule = ptf.serving.KeepRows(min_count=2, top=2)
    export = ptf.serving.export(used, path, rows=rule)
    assert exported_ids(export) == [3, 4]
    assert export.tables[0].left_out == {"min_count": 2, "top": 1}


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_seconds_count_where_the_table_counts_seconds(one_table, path):
    model, _ = one_table(eviction=ptf.eviction.TTL(seconds=100_000))
    use(model, [1, 2])
    rule = ptf.serving.KeepRows(within_seconds=90_000)
    assert exported_ids(ptf.serving.export(model, path, rows=rule)) == [1, 2]


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_one_table_by_its_name(one_table, path):
    model, layer = one_table(capacity=100)
    use(model, [1, 2], [1])
    rows = {layer.rows.name: ptf.serving.KeepRows(min_count=2)}
    assert exported_ids(ptf.serving.export(model, path, rows=rows)) == [1]


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_a_table_that_notes_no_use_is_refused(one_table, path):
    model, _ = one_table()
    use(model, [1])
    with pytest.raises(errors.FailedPreconditionError, match="does not record when"):
        ptf.serving.export(model, path, rows=ptf.serving.KeepRows(top=1))


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_a_time_that_the_table_does_not_count_is_refused(used, path):
    rows = ptf.serving.KeepRows(within_seconds=10)
    with pytest.raises(ValueError, match="counts time in steps: ask for `within_steps"):
        ptf.serving.export(used, path, rows=rows)


@pytest.mark.parametrize("cluster", [0], indirect=True)
@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (3, TypeError, "`rows` must be None, .*rows=3"),
        ({"no": ptf.serving.KeepRows(top=1)}, ValueError, "`rows` must name.*'no'"),
        ({"no": 3}, TypeError, "`rows` must be None"),
    ],
)
def test_rows_that_make_no_sense_are_refused(used, path, rows, error, message):
    with pytest.raises(error, match=message):
        ptf.serving.export(used, path, rows=rows)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "at least one of .*Received: none"),
        ({"within_steps": 1, "within_seconds": 1}, ValueError, "takes only one of"),
        ({"top": 0}, ValueError, "`top` must be an integer from 1"),
        ({"min_count": 1.5}, TypeError, "`min_count` must be an integer"),
        ({"top": 1, "by": "age"}, ValueError, "`by` must be one of"),
    ],
)
def test_rules_that_make_no_sense_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        ptf.serving.KeepRows(**arguments)


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_rows_that_go_between_the_walks_are_no_error(used, path, monkeypatch):
    [table] = kept_rows_tables(used)
    chosen = kept_rows.ChosenRows(table, ptf.serving.KeepRows(min_count=2))
    table.remove([3])
    [batch] = chosen.batches()
    assert sorted(batch.ids) == [2, 4] and chosen.count == 3


def kept_rows_tables(model):
    return [layer.rows for layer in model.layers if hasattr(layer, "rows")]


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_the_best_of_many_pages_are_the_best_of_all(one_table, monkeypatch):
    model, layer = one_table(eviction=TTL)
    random = np.random.default_rng(1)
    counts = np.zeros(500, int)
    for _ in range(8):
        ids = np.flatnonzero(random.random(500) < 0.3)
        counts[ids] += 1
        use(model, ids)
    pages = layer.rows.export
    monkeypatch.setattr(layer.rows, "export", lambda **uses: pages(16, **uses))
    chosen = kept_rows.ChosenRows(layer.rows, ptf.serving.KeepRows(top=20))
    found = np.sort(np.concatenate([batch.ids for batch in chosen.batches()]))
    expected = np.lexsort((np.arange(500), -counts))[:20]
    np.testing.assert_array_equal(found, np.sort(expected))
    assert chosen.left_out == {"top": np.count_nonzero(counts) - 20}
