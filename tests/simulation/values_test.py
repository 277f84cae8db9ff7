"""The values that options, examples and plans give."""

import json

import pytest

from persia_tf.simulation.fields import FIELDS
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.values import RefusedError, chosen, costs_of, steps_of

SHARE_RULE = '--in-memory must be a number from 0 to 1, or from "0%" to "100%"'
PLAN = {
    "batch_size": 100.0,
    "tables": [
        {
            "dim": 8,
            "row_dtype": "float32",
            "row_bytes": 68,
            "lookups": 1,
            "ids_per_step": 30.0,
            "repeated_ids_per_step": 100.0,
            "rows": {"value": 1000.0},
        },
        {
            "dim": 16,
            "row_dtype": "float16",
            "row_bytes": 36,
            "lookups": 2,
            "ids_per_step": 90.0,
            "repeated_ids_per_step": 250.0,
            "rows": {"value": 500.0},
        },
    ],
    "shards": [
        {
            "shards": 2,
            "busiest_ids": 1.25,
            "times": {"own_step_seconds": 0.02, "own_step_cores": 1.5},
        },
        {"shards": 4, "busiest_ids": 1.5, "times": None},
    ],
}


@pytest.fixture
def choose():
    """Chooses values by options, which are given as on the command line."""

    def given(**options):
        names = [field.option.removeprefix("--").replace("-", "_") for field in FIELDS]
        return chosen({name: options.get(name) for name in (*names, "example", "plan")})

    return given


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    return str(tmp_path / "plan.json")


def test_options_have_units(choose):
    setup = choose(
        network="25Gb",
        delay_ms="0.2",
        dense_ms="15",
        shard_memory="2TiB",
        dense_bytes="40MB",
        same_machine="no",
        table_rows="1e9",
    ).setup
    assert setup.network_bytes_per_second == 25e9 / 8
    assert setup.delay_seconds == pytest.approx(2e-4)
    assert setup.dense_seconds == pytest.approx(0.015)
    assert setup.shard_bytes == 2 * 2**40
    assert setup.dense_bytes == 40e6
    assert setup.same_machine is False
    assert setup.table_rows == 1e9
    assert choose(in_memory="98.5%").setup.in_memory == pytest.approx(0.985)
    assert choose(shards="1e2").setup.shards == 100
    assert choose(recovery="standby").operation.recovery == "standby"
    assert choose(network="1.25GB/s").setup.network_bytes_per_second == 1.25e9


def test_options_replace_the_values_of_an_example(choose):
    made = choose(example="paper", shards="60")
    assert made.setup.shards == 60
    assert made.setup.trainers == 64
    assert made.values["shards"].source == "given"
    assert made.title.endswith(", with other values")
    assert choose().setup == Setup()


def test_a_plan_gives_tables_rows_and_bytes(choose, plan):
    made = choose(plan=plan, shards="4", ids="500")
    setup = made.setup
    assert (setup.tables, setup.layers, setup.examples) == (2, 3, 100)
    assert (setup.rows, setup.ids, setup.dim) == (120, 500, 14)
    assert setup.table_rows == 1500
    assert setup.busiest == 1.5
    # A row of the first table has 36 bytes besides its weights, and one of the other 4.
    assert setup.state_bytes == pytest.approx((30 * 36 + 90 * 4) / 120)
    assert made.operation.stored_weight_bytes == pytest.approx((30 * 4 + 90 * 2) / 120)
    assert choose(plan=plan, shards="3").setup.busiest == 1
    assert choose(plan=plan).setup.ids == 350


def test_a_plan_with_times_gives_the_dense_part(choose, plan):
    timed = choose(plan=plan, shards="2")
    assert (timed.setup.dense_seconds, timed.setup.dense_cores) == (0.02, 1.5)
    assert timed.values["dense_seconds"].source == "given"
    given = choose(plan=plan, shards="2", dense_ms="15").setup
    assert given.dense_seconds == pytest.approx(0.015)
    for shards in ("3", "4"):
        untimed = choose(plan=plan, shards=shards).setup
        assert untimed.dense_seconds == Setup().dense_seconds


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"example": "papers"}, "--example must be one of paper, this-machine, "),
        ({"shards": "two"}, "--shards must be an integer of at least 0. Received: two"),
        ({"shards": "0"}, "--shards must be at least 1. Received: --shards 0"),
        ({"network": "fast"}, "--network must be bits or bytes per second, such as"),
        ({"network": "0Gb"}, "--network must be bits or bytes per second, such as"),
        ({"delay_ms": "-1"}, "--delay-ms must be a number of milliseconds of at"),
        ({"rows": "nan"}, "--rows must be a number of at least 0. Received: nan"),
        ({"shard_memory": "12"}, None),
        ({"shard_memory": "12TX"}, "--shard-memory must be a number of bytes, such"),
        ({"same_machine": "maybe"}, '--same-machine must be "yes" or "no". Received: '),
        ({"in_memory": "1.5"}, f"{SHARE_RULE}. Received: 1.5"),
        ({"in_memory": "150%"}, f"{SHARE_RULE}. Received: 150%"),
        ({"in_memory": "x%"}, f"{SHARE_RULE}. Received: x%"),
        ({"recovery": "no"}, "--recovery must be one of log, standby, checkpoint. Rec"),
        ({"shards": "2.5"}, "--shards must be an integer of at least 0. Received: 2.5"),
        ({"shards": "20000"}, "--shards must be at most 16384, since each owns at "),
        (
            {"rows": "10", "ids": "5"},
            "--rows must be at most --ids: it counts the distinct ones of them. "
            "Received: --ids 5, --rows 10",
        ),
        (
            {"proxies": "yes", "same_machine": "no"},
            "--proxies must be False unless --same-machine is True: between machines, "
            "the network delays. Received: --proxies yes",
        ),
        ({"timeout": "0"}, "--timeout must be above 0. Received: --timeout 0"),
        ({"plan": "nowhere.json"}, "--plan must be a file that `persia plan --json"),
    ],
)
def test_refused_values_are_told_with_their_option_and_rule(choose, options, told):
    if told is None:
        choose(**options)
        return
    with pytest.raises(RefusedError) as refused:
        choose(**options)
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize("text", ["[]", "{}", "no JSON", '{"tables": []}'])
def test_a_file_that_is_no_plan_is_refused(choose, tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(RefusedError, match="--plan must be a file that"):
        choose(plan=str(tmp_path / "plan.json"))


def test_costs_are_read_from_a_file(tmp_path):
    (tmp_path / "costs.json").write_text(json.dumps(costs_of(None).to_dict()))
    assert costs_of(str(tmp_path / "costs.json")) == costs_of(None)
    (tmp_path / "costs.json").write_text("{}")
    with pytest.raises(RefusedError, match="--costs must be a file that"):
        costs_of(str(tmp_path / "costs.json"))


def test_steps_must_be_more_than_updates_may_be_late():
    assert steps_of(None, Setup()) is None
    assert steps_of("10", Setup(staleness=8)) == 10
    assert steps_of("1e2", Setup(staleness=8)) == 100
    with pytest.raises(RefusedError, match="--steps must be an integer of at least 10"):
        steps_of("9", Setup(staleness=8))
