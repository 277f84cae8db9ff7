"""What of a cluster breaks first."""

import dataclasses
import math
import os
import re
from pathlib import Path

import pytest

from persia_tf.native import core_limits
from persia_tf.simulation.busy import all_reduce_seconds
from persia_tf.simulation.costs import measured_costs
from persia_tf.simulation.limit import Facts
from persia_tf.simulation.limits import limits_of
from persia_tf.simulation.operation import Operation
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import Simulated

# Not resolved: a sandboxed run sees its sources through links.
ROOT = Path(os.path.abspath(__file__)).parents[2]

SETUP = Setup(
    trainers=8, shards=4, same_machine=False, dense_seconds=0.02, dense_bytes=1e6
)
SIMULATED = Simulated(
    per_second=20.0,
    p50=0.05,
    p99=0.06,
    lookup_p50=0.005,
    lookup_p99=0.01,
    update_p50=0.005,
    update_p99=0.01,
    busy={"cores of shards": 0.5, "I/O threads of shards": 0.25},
)


@pytest.fixture
def limits():
    """Returns the limits by name, of a set-up with other values."""

    def find(operation=None, slowed=10.0, **values):
        facts = Facts(
            dataclasses.replace(SETUP, **values),
            operation or Operation(),
            dataclasses.replace(
                measured_costs(),
                row_index_bytes=12.0,
                checkpoint_bytes_per_second=1e8,
                restore_bytes_per_second=2e8,
            ),
            SIMULATED,
            dataclasses.replace(SIMULATED, per_second=slowed),
        )
        return {limit.name: limit for limit in limits_of(facts)}

    return find


@pytest.mark.parametrize(
    ("path", "pattern", "value"),
    [
        ("cc/base/slots.h", r"kSlotBits = (\d+);", core_limits.SLOTS.bit_length() - 1),
        ("cc/base/slots.h", r"kMostOfBytes = (\d+);", core_limits.MOST_BYTE_OWNERS),
        (
            "cc/server/server.h",
            r"max_connections = (\d+);",
            core_limits.MAX_CONNECTIONS,
        ),
        ("cc/server/server.h", r"max_in_flight = (\d+);", core_limits.MAX_IN_FLIGHT),
        (
            "cc/server/server.h",
            r"max_unwritten_total_bytes = 1u << (\d+);",
            core_limits.MAX_UNWRITTEN_TOTAL_BYTES.bit_length() - 1,
        ),
        (
            "cc/wire/frame.h",
            r"kMaxBodyBytes = 1ull << (\d+);",
            core_limits.MAX_BODY_BYTES.bit_length() - 1,
        ),
        (
            "cc/wire/request_limits.h",
            r"tables = uint64_t\{1\} << (\d+);",
            core_limits.MAX_REQUEST_TABLES.bit_length() - 1,
        ),
        (
            "cc/wire/request_limits.h",
            r"ids = uint64_t\{1\} << (\d+);",
            core_limits.MAX_REQUEST_IDS.bit_length() - 1,
        ),
        ("cc/shard/trainers.h", r"kMost = (\d+);", core_limits.MOST_TRAINERS),
        (
            "cc/store/row_index.h",
            r"using Row = uint(\d+)_t;",
            core_limits.MOST_ROWS_OF_SUB_SHARD.bit_length(),
        ),
        (
            "cc/journal/journal.h",
            r"least_base_bytes = uint64_t\{1\} << (\d+);",
            core_limits.LEAST_BASE_BYTES.bit_length() - 1,
        ),
    ],
)
def test_the_limits_of_the_core_are_those_of_its_sources(path, pattern, value):
    [found] = re.findall(pattern, (ROOT / path).read_text())
    assert int(found) == value


def test_they_are_sorted_by_headroom_and_say_what_to_change(limits):
    found = list(limits(shard_bytes=1e12).values())
    headrooms = [limit.headroom for limit in found]
    assert headrooms == sorted(headrooms)
    assert all(limit.source and limit.remedy for limit in found)
    assert {limit.beyond for limit in found} == {"fails", "slower"}


def test_memory_has_weights_state_and_index(limits):
    values = {"table_rows": 4e9, "dim": 16, "state_bytes": 64.0, "shard_bytes": 280e9}
    memory = limits(**values)["memory of a shard"]
    assert memory.number == 1e9 * (64 + 64 + 12)
    assert memory.headroom == pytest.approx(2)
    halves = limits(Operation(stored_weight_bytes=2.0), **values)["memory of a shard"]
    assert halves.number == 1e9 * (32 + 64 + 12)


def test_without_a_limit_of_memory_there_is_no_headroom_to_run_out_of(limits):
    memory = limits()["memory of a shard"]
    assert memory.headroom == math.inf
    assert memory.to_dict()["headroom"] is None


def test_a_checkpoint_takes_the_time_of_the_bytes_of_a_shard(limits):
    found = limits(table_rows=4e9, dim=16, state_bytes=56.0, checkpoint_minutes=60.0)
    saved = 1e9 * (8 + 64 + 56)
    assert found["time of a checkpoint"].number == pytest.approx(saved / 1e8)
    assert found["time of a checkpoint"].limit == 3600
    # Each shard reads the files of all.
    assert found["time to restore a checkpoint"].number == pytest.approx(
        4 * saved / 2e8
    )
    # At worst the log is as long as its base.
    recovery = found["recovery of a shard from its log"]
    assert recovery.number == pytest.approx(2 * saved / 2e8)
    assert recovery.limit == 30


def test_failures_are_those_of_all_machines(limits):
    operation = Operation(days_between_failures=24.0, restart_minutes=10.0)
    found = limits(operation, checkpoint_minutes=60.0, table_rows=0.0)
    assert found["failures per day"].number == pytest.approx(0.5)
    assert found["failures per day"].limit == 24
    # Half an hour is trained again, and programs restart in ten minutes, unless one of
    # the 4 shards was lost, of 12 machines: it has no rows, so it is back at once.
    lost = found["part of the time that is lost to failures"]
    assert lost.number == pytest.approx(0.5 * 8 / 12 * 40 / (24 * 60))


def test_a_standby_takes_a_lost_shards_place_while_programs_wait(limits):
    operation = Operation(
        days_between_failures=20.0, restart_minutes=10.0, recovery="standby"
    )
    found = limits(operation, checkpoint_minutes=60.0, table_rows=4e9)
    recovery = found["recovery of a shard by its standby"]
    assert 0 < recovery.number < 1
    assert recovery.limit == operation.timeout_seconds
    assert "recovery of a shard from its log" not in found
    # 8 trainers, 4 shards and 4 standbys; only a lost trainer has all begin again.
    assert found["failures per day"].number == pytest.approx(16 / 20)
    lost = 16 / 20 * (8 / 16 * 40 * 60 + 4 / 16 * recovery.number) / (24 * 3600)
    assert found["part of the time that is lost to failures"].number == pytest.approx(
        lost
    )


def test_without_log_or_standby_a_lost_shard_has_all_begin_again(limits):
    operation = Operation(
        days_between_failures=24.0, restart_minutes=10.0, recovery="checkpoint"
    )
    found = limits(operation, checkpoint_minutes=60.0, table_rows=4e9)
    assert not any(name.startswith("recovery of a shard") for name in found)
    restore = found["time to restore a checkpoint"].number
    lost = 0.5 * (40 * 60 + 4 / 12 * restore) / (24 * 3600)
    assert found["part of the time that is lost to failures"].number == pytest.approx(
        lost
    )


def test_a_recovery_within_the_timeout_has_no_program_begin_again(limits):
    values = {"checkpoint_minutes": 60.0, "table_rows": 4e6}
    name = "part of the time that is lost to failures"
    waited = limits(Operation(days_between_failures=24.0), **values)
    shorter = Operation(days_between_failures=24.0, timeout_seconds=1.0)
    again = limits(shorter, **values)
    back = waited["recovery of a shard from its log"].number
    assert 1 < back < 30
    lost = 0.5 * (8 / 12 * 35 * 60 + 4 / 12 * back) / (24 * 3600)
    assert waited[name].number == pytest.approx(lost)
    assert again[name].number == pytest.approx(lost + 0.5 * 4 / 12 * 35 / (24 * 60))


def test_connections_are_those_of_trainers_or_of_workers(limits):
    assert limits(trainers=100)["connections of a shard"].number == 100
    found = limits(trainers=100, workers=7, staleness=4)
    assert found["connections of a shard"].number == 7
    assert found["connections of an embedding worker"].number == 15
    assert found["requests in flight of a connection"].number == 15 * 5


def test_more_shards_than_slots_do_not_fit(limits):
    assert limits(shards=16_384)["shards, of slots"].headroom == 1
    with pytest.raises(ValueError, match="`shards` must be at most 16384, since"):
        limits(shards=20_000)


def test_what_is_busy_has_all_of_the_time_as_its_limit(limits):
    found = limits()
    assert found["busy: cores of shards"].headroom == 2
    synchronous = found["busy: dense part of trainers, with its all-reduce"]
    assert synchronous.number == pytest.approx(20 * (0.02 + all_reduce_seconds(SETUP)))
    assert found["load of the busiest shard, over the mean"].limit == 2


def test_a_slow_shard_is_compared_with_the_usual(limits):
    name = "time of a step if one shard takes twice as long, over the usual"
    assert limits(slowed=10.0)[name].headroom == 1
    assert limits(slowed=20.0)[name].headroom == 2


def test_an_operation_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="`open_files` must be above 0. Received: "):
        Operation(open_files=0)
    with pytest.raises(ValueError, match="`recovery` must be one of log, standby, ch"):
        Operation(recovery="none")
