"""Events of JSON: good ones become rows, and all others are told apart from them."""

import numpy as np
import pytest

from persia_tf import errors

pa = pytest.importorskip("pyarrow")

from persia_tf.data.reading.kafka.json_events import JsonEvents  # noqa: E402

COLUMNS = {
    "id": "int64",
    "price": "float32",
    "name": "string",
    "tags": pa.list_(pa.int64()),
}
GOOD = b'{"id": 1, "price": 2, "name": "x", "tags": [3, 4], "other": {"a": [1, "b"]}}'
ROW = {"id": 1, "price": 2.0, "name": "x", "tags": [3, 4]}


@pytest.fixture
def events():
    return JsonEvents(COLUMNS, {})


def test_members_that_are_not_columns_are_ignored(events):
    table, bad = events.parsed([GOOD, GOOD])
    assert table.to_pylist() == [ROW, ROW] and not bad
    assert table.schema == events.schema


def test_no_events_are_an_empty_table(events):
    table, bad = events.parsed([])
    assert len(table) == 0 and table.schema == events.schema and not bad


def test_events_may_have_line_breaks_and_spaces_around_them(events):
    pretty = b"\n " + GOOD.replace(b", ", b",\r\n  ") + b" \n"
    table, bad = events.parsed([pretty, GOOD])
    assert table.to_pylist() == [ROW, ROW] and not bad


def changed(**members):
    import json

    return json.dumps({**json.loads(GOOD), **members}).encode()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "is not a JSON object"),
        (b"", "is not a JSON object"),
        (b" \n ", "is not a JSON object"),
        (b"3", "is not a JSON object"),
        (b"[" + GOOD + b"]", "is not a JSON object"),
        (b"\xef\xbb\xbf" + GOOD, "is not a JSON object"),
        (GOOD[:-1], "Missing a comma"),
        (GOOD[1:], "is not a JSON object"),
        (GOOD + GOOD, "is more than one JSON object"),
        (GOOD + b"\n" + GOOD, "is more than one JSON object"),
        (GOOD + b"}", "JSON parse error"),
        (b'{"id": 1, "name": "}', "JSON parse error"),
        (b"{'id': 1}", "JSON parse error"),
        (GOOD.replace(b'"x"', b'"\xff"'), "UTF8"),
        (GOOD.replace(b'"x"', b'"\\ud800"'), "surrogate"),
        (GOOD.replace(b"2,", b"1e400,"), "too big"),
        (GOOD.replace(b"2,", b"NaN,"), "'price' has a value that is no finite"),
        (GOOD.replace(b"2,", b"1e300,"), "'price' has a value that is no finite"),
        (changed(id="1"), "changed from number to string"),
        (changed(id=1.5), "1.5"),
        (changed(id=True), "changed from number to boolean"),
        (changed(id=2**64), str(2**64)),
        (changed(id=None), "column 'id' has no value"),
        (b'{"id": 1}', "has no value"),
        (b"{}", "has no value"),
        (changed(tags=None), "column 'tags' has no value"),
        (changed(tags=3), "changed from array to number"),
        (changed(tags=["3"]), "changed from number to string"),
        (changed(tags=[1, None]), "'tags' has a value that is no finite number, or"),
    ],
)
@pytest.mark.parametrize("place", [0, 3, 6])
def test_bad_events_are_told_apart(events, value, message, place):
    values = [changed(id=number) for number in range(6)]
    values.insert(place, value)
    table, bad = events.parsed(values)
    assert table["id"].to_pylist() == list(range(6))
    assert list(bad) == [place] and message in bad[place]


def test_two_events_that_make_up_for_each_other_are_both_told(events):
    table, bad = events.parsed([GOOD + GOOD, b"", GOOD])
    assert table.to_pylist() == [ROW] and sorted(bad) == [0, 1]


def test_any_mixture_is_divided_right(events):
    random = np.random.default_rng(0)
    kinds = [b"{", changed(id="1"), changed(id=None), None, b"{}{}"]
    for _ in range(20):
        is_bad = random.random(100) < random.random()
        values = [
            kinds[random.integers(len(kinds))] if each else changed(id=number)
            for number, each in enumerate(is_bad)
        ]
        table, bad = events.parsed(values)
        assert table["id"].to_pylist() == np.flatnonzero(~is_bad).tolist()
        assert sorted(bad) == np.flatnonzero(is_bad).tolist()


def test_values_that_are_missing_are_filled():
    events = JsonEvents(COLUMNS, {"price": -1.0, "tags": []})
    table, bad = events.parsed([b'{"id": 1, "name": "x"}', b'{"id": 1}', GOOD])
    assert table.to_pylist() == [{**ROW, "price": -1.0, "tags": []}, ROW]
    assert list(bad) == [1]


def test_columns_that_do_not_fit():
    with pytest.raises(TypeError, match=r"type of pyarrow.*columns\['id'\]='integer'"):
        JsonEvents({"id": "integer"}, {})
    with pytest.raises(errors.InvalidArgumentError, match="'id' has the type struct"):
        JsonEvents({"id": pa.struct([("a", pa.int64())])}, {})
    with pytest.raises(errors.InvalidArgumentError, match="`fill` must .*'age'.*'id'"):
        JsonEvents({"id": "int64"}, {"age": 3})
