"""The times of `ptf.plan`: what it takes and refuses, and how it shows them."""

import json

import pytest

import persia_tf as ptf
from persia_tf.planning import planner, step_clock, trials, tried_step
from persia_tf.simulation.costs import measured_costs


@pytest.fixture(autouse=True)
def known_speed(monkeypatch):
    """Plans without measuring this machine's speed."""
    monkeypatch.setattr(planner, "costs_here", lambda: (measured_costs(), 1.0))


@pytest.fixture
def model(make_model):
    pooled = {"output_dim": 8, "bag": 3, "combiner": "mean"}
    return make_model({"output_dim": 4}, pooled)


@pytest.fixture
def dataset(make_dataset):
    return make_dataset(300, 300, bags={1: 3})


@pytest.fixture
def plan(model, dataset):
    def plan(**options):
        return ptf.plan(model, dataset, run_steps=60, shards=[1, 2], **options)

    return plan


def test_there_are_no_times_unless_asked_for(plan):
    found = plan()
    assert found.times is None
    assert [each.times for each in found.shards] == [None, None]
    assert "Times" not in str(found)


def test_the_own_step_may_be_given(plan):
    found = plan(step_seconds=0.1, staleness=0)
    assert not found.times.is_measured
    for each in found.shards:
        assert each.times.own_step_seconds == 0.1
        assert each.times.step_seconds > 0.1
        assert each.times.hiding_staleness == 0


@pytest.fixture
def tried(monkeypatch):
    """The numbers of shards of trials, which are short."""
    monkeypatch.setattr(step_clock, "_LEAST_STEPS", 2)
    monkeypatch.setattr(step_clock, "_LEAST_SECONDS", 0.0)
    numbers = []

    def noted(*arguments):
        numbers.append(arguments[-1])
        return tried_step.tried_step(*arguments)

    monkeypatch.setattr(trials, "tried_step", noted)
    return numbers


def test_the_own_step_may_be_measured(plan, tried):
    found = plan(time=True)
    assert tried == [1, 2]
    assert found.times.is_measured
    assert all(each.times.own_step_seconds > 0 for each in found.shards)
    for table in found.tables:
        assert len(ptf.Table(table.name)) == 0


def test_shards_of_other_machines_are_not_tried(plan, tried):
    found = plan(time=True, latency=0.001)
    assert tried == [1]
    one, two = (each.times for each in found.shards)
    assert one.own_step_seconds == two.own_step_seconds


def test_very_many_shards_are_not_tried(model, dataset, tried, monkeypatch):
    monkeypatch.setattr(trials, "MOST_TRIED_SHARDS", 2)
    ptf.plan(model, dataset, shards=[3, 4], time=True)
    assert tried == [2]


def test_the_staleness_is_that_of_the_cluster(make_model, make_dataset, start_shards):
    # The embedded session of this process has the staleness of other tests.
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], staleness=7)
    model = make_model({"output_dim": 4}, cluster=cluster)
    assert ptf.plan(model, make_dataset(9), step_seconds=0.1).times.staleness == 7
    given = ptf.plan(model, make_dataset(9), step_seconds=0.1, staleness=2)
    assert given.times.staleness == 2


def test_times_are_shown_and_written(plan, tmp_path):
    prices = {"trainer": 3, "shard": 0.5}
    found = plan(step_seconds=0.1, latency=0.002, target_rate=1_000, prices=prices)
    lines = str(found).splitlines()
    [header] = [line for line in lines if "examples/s" in line]
    columns = ["shards", "own", "part", "step", "examples/s", "checkpoint"]
    assert header.split()[:6] == columns
    for column in ("staleness", "trainers", "all examples/s", "run", "cost", "busiest"):
        assert column in header
    assert all(len(line) <= 140 for line in lines)
    assert found.to_dict() == json.loads(found.to_json())
    assert found.to_dict()["times"]["prices"] == {"trainer": 3.0, "shard": 0.5}
    assert found.to_dict()["shards"][1]["times"]["trainers"] >= 3
    found.to_html(tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text()
    assert "<h2>Times</h2>" in page
    assert page.count("<table>") == 3


def test_columns_that_were_not_asked_for_are_left_out(plan):
    [header] = [
        line for line in str(plan(step_seconds=0.1)).splitlines() if "ples/s" in line
    ]
    columns = ["shards", "own", "part", "step", "examples/s", "checkpoint", "run"]
    assert header.split() == [*columns, "busiest"]


def test_a_rate_that_is_not_reached_is_warned_of(plan):
    found = plan(step_seconds=0.1, target_rate=1e12)
    assert [each.times.trainers for each in found.shards] == [None, None]
    [warning] = [each for each in found.warnings if "per second" in each]
    highest = max(each.times.highest_rate for each in found.shards)
    assert "may not reach 1,000,000,000,000 examples per second; the most" in warning
    assert f"is {highest:,.0f}, with 2 shards" in warning


def test_a_latency_that_is_not_hidden_is_warned_of(plan):
    [warning] = [
        each
        for each in plan(step_seconds=0.1, latency=0.2, staleness=1).warnings
        if "latency" in each
    ]
    assert "a latency of 200 ms makes steps longer with a staleness of 1" in warning
    found = plan(step_seconds=0.1, latency=50, staleness=1)
    assert any("no staleness up to 64 hides it" in each for each in found.warnings)
    found = plan(step_seconds=0.1, latency=0.001, staleness=4)
    assert not any("latency" in each for each in found.warnings)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"time": 1}, TypeError, "`time` must be a bool. Received: time=1"),
        ({"step_seconds": 0}, ValueError, "`step_seconds` must be a finite number"),
        (
            {"step_seconds": 1, "time": True},
            ValueError,
            "`step_seconds` must be None if `time` is True.*step_seconds=1",
        ),
        ({"latency": 0.1}, ValueError, "`latency` is about time.*latency=0.1"),
        ({"target_rate": 7}, ValueError, "`target_rate` is about time"),
        ({"step_seconds": 1, "latency": -1}, ValueError, "`latency` must be a number"),
        ({"step_seconds": 1, "staleness": -1}, ValueError, "`staleness` must be an"),
        ({"step_seconds": 1, "network_gbits": 0}, ValueError, "`network_gbits` must"),
        ({"step_seconds": 1, "target_rate": "x"}, TypeError, "`target_rate` must be"),
        ({"step_seconds": 1, "prices": 3}, TypeError, "`prices` must be a dict"),
        (
            {"step_seconds": 1, "prices": {"trainer": 3}},
            ValueError,
            r"of a trainer and of a shard.*Received: prices with \['trainer'\]",
        ),
    ],
)
def test_options_that_are_wrong_are_refused(plan, options, error, match):
    with pytest.raises(error, match=match):
        plan(**options)
