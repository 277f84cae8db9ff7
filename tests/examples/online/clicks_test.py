"""The clicks can be learned, and drift."""

import json

import numpy as np
from online.clicks import COLUMNS, FIRST_PROBE, Clicks, event


def labels_at(seconds):
    """What each pair of user and item got, of many draws at a time."""
    drawn = [json.loads(each) for each in Clicks(3).draw(50_000, seconds)]
    return np.array([each["clicked"] for each in drawn])


def test_events_have_the_columns():
    for value in (*Clicks(0).draw(10, 0), event(FIRST_PROBE, FIRST_PROBE, True)):
        assert list(json.loads(value)) == list(COLUMNS)


def test_equal_seeds_draw_the_same():
    assert Clicks(1).draw(10, 5) == Clicks(1).draw(10, 5) != Clicks(2).draw(10, 5)


def test_preferences_drift():
    now, soon, later = (labels_at(seconds) for seconds in (0, 1, 300))
    changed_soon, changed_later = (now != soon).mean(), (now != later).mean()
    assert changed_soon < 0.05 < 0.2 < changed_later
