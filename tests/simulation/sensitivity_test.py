"""How much the throughput depends on assumptions."""

import dataclasses
import xml.etree.ElementTree as ElementTree

import pytest

from persia_tf.simulation.sensitivity import (
    Change,
    least_steps,
    sensitivity,
    steps_for,
    warm_up_of,
)
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.tornado import tornado

SETUP = Setup(
    dense_seconds=0.01, dense_cores=0, delay_seconds=1e-3, staleness=4, cores=8
)


@pytest.fixture
def changes(free):
    def find(**values):
        found = sensitivity(dataclasses.replace(SETUP, **values), free, steps=20)
        return {change.name: change for change in found}

    return find


def test_what_limits_the_throughput_comes_first(changes):
    found = changes()
    assert next(iter(found)) == "time of the dense part"
    assert found["time of the dense part"].halved == pytest.approx(1)
    assert found["time of the dense part"].doubled == pytest.approx(-0.5)
    assert found["delay of the network"].size == pytest.approx(0)


def test_values_that_a_set_up_cannot_have_are_left_out(changes):
    found = changes()
    # Half a shard, and a share of the busiest shard below the mean.
    assert found["shards"].halved is None
    assert found["load of the busiest shard"].halved is None
    # All rows are in memory, there is no worker, and nothing else takes time.
    assert "rows that are not in memory" not in found
    assert "workers" not in found
    assert "work of shards" not in found


def test_rows_that_are_read_depend_on_how_many_are_missing(changes):
    assert "rows that are not in memory" in changes(in_memory=0.9)


def test_large_clusters_are_simulated_for_fewer_steps():
    small, large = Setup(), Setup(trainers=64, shards=64)
    assert steps_for(small) > steps_for(large) >= least_steps(large)
    assert warm_up_of(Setup(staleness=9)) == 10


def test_a_plot_has_a_bar_for_each_simulation_and_stays_in_its_picture():
    changes = [Change("a <b>", 0.5, -0.3), Change("c", None, 2.0), Change("d", 0, 0)]
    svg = "{http://www.w3.org/2000/svg}"
    picture = ElementTree.fromstring(tornado("What matters", changes))
    _, _, width, height = map(float, picture.get("viewBox").split())
    bars = [
        each
        for each in picture.findall(f"{svg}rect")
        if each.get("class").split()[0] in ("blue", "orange")
    ]
    assert len(bars) == 5
    for bar in bars:
        left, size = float(bar.get("x")), float(bar.get("width"))
        assert 0 <= left <= left + size <= width
        assert float(bar.get("y")) < height
    texts = {text.text for text in picture.findall(f"{svg}text")}
    assert {"a <b>", "+200%", "-30%", "+0%"} <= texts


def test_a_plot_without_changes_is_drawn():
    ElementTree.fromstring(tornado("Nothing", []))
