"""What `persia status` shows of a cluster, made up and of live shards."""

import ctypes
import dataclasses
import json

import pytest

from persia_tf.client.session import SessionOptions
from persia_tf.commands import topology
from persia_tf.native import capi
from persia_tf.resharding.cluster_state import ClusterState, RunningMove, ShardState
from persia_tf.resharding.watch import ClusterWatch

STATE = ClusterState(
    cluster=7,
    epoch=12,
    imbalance=1.25,
    measured_seconds=None,
    shards=(
        ShardState(1, 0, "ps-0:7000", "ps-2:7000", True, 4096, 0.625),
        ShardState(2, 1, "ps-1:7000", "", True, 8192, 0.375),
        ShardState(3, 2, "ps-3:7000", "", False, 4096, None),
    ),
    moves=(RunningMove("ps-0:7000", "ps-1:7000", 1000, 10, 2000, 64000),),
)


@pytest.fixture
def make_table(request):
    """Makes a table on shards, which become a cluster thereby."""
    native = capi.library()

    def make(*addresses):
        listed = ",".join(addresses)
        name = capi.utf8(f"{request.node.name} on {listed}")
        options = SessionOptions(staleness=0).native(listed)
        native.persia_session_open(name, ctypes.byref(options))
        try:
            settings = capi.TableSettings(dim=4, initializer=b"zeros", optimizer=b"sgd")
            native.persia_session_create_table(
                *(name, b"clicks"),
                *(ctypes.byref(settings), ctypes.byref(ctypes.c_uint64())),
            )
        finally:
            native.persia_session_close(name)

    return make


@pytest.fixture
def status(persia):
    """Runs `persia status`; gives the command, which must exit with `code`."""

    def run(*args, code=0):
        command = persia("status", *args)
        assert command.wait() == code, command.stderr
        return command

    return run


def told_by(command):
    return json.loads(command.stdout)["topology"]


def epochs(*addresses):
    """What each of these shards knows by itself."""
    seen = []
    for address in addresses:
        with ClusterWatch([address], 20) as watch:
            others = [each for each in addresses if each != address]
            seen.append(watch.look(away=others).epoch)
    return seen


def test_text_shows_each_shard_and_what_moves():
    table, sentences = topology.to_text(
        topology.Topology(STATE, "", has_shards=True)
    ).split("\n\n")
    assert [line.split() for line in table.splitlines()[1:]] == [
        ["ps-0:7000", "4096", "25.0%", "62.5%", "up", "ps-2:7000"],
        ["ps-1:7000", "8192", "50.0%", "37.5%", "up", "-"],
        ["ps-3:7000", "4096", "25.0%", "-", "DOWN", "-"],
    ]
    assert sentences.splitlines() == [
        "The cluster is in epoch 12. The busiest shard has 1.25 times the mean load "
        "since the shards started.",
        "ps-1:7000 takes slots over from ps-0:7000: 10 of 1,000 have moved, with 2,000 "
        "rows of 64,000 bytes.",
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"measured_seconds": 10.0}, "1.25 times the mean load over 10 s."),
        ({"imbalance": None}, "No rows were asked for since the shards started."),
        (
            {"imbalance": None, "measured_seconds": 0.5},
            "No rows were asked for over 0.5 s.",
        ),
    ],
)
def test_text_says_since_when_the_load_is(changes, sentence):
    state = dataclasses.replace(STATE, **changes)
    text = topology.to_text(topology.Topology(state, "", has_shards=True))
    assert text.splitlines()[-2].endswith(sentence)


def test_json_has_all_of_the_cluster():
    told = topology.to_json(topology.Topology(STATE, "", has_shards=True))
    assert json.loads(json.dumps(told)) == {
        "topology": json.loads(json.dumps(dataclasses.asdict(STATE))),
        "topology_error": "",
    }
    assert told["topology"]["shards"][0]["slots"] == 4096
    assert told["topology"]["moves"][0]["taker"] == "ps-1:7000"


def test_shards_without_a_table_belong_to_no_cluster(status, start_ps):
    addresses = [start_ps()[1] for _ in range(2)]
    assert "belong to no cluster yet" in status(",".join(addresses)).stdout
    told = json.loads(status("--json", ",".join(addresses)).stdout)
    assert told["topology"] is None and told["topology_error"] == ""
    # Nor are they one after they were asked.
    assert told_by(status("--json", addresses[0])) is None


def test_shards_that_are_not_listed_are_shown_too(status, start_ps, make_table):
    addresses = [start_ps()[1] for _ in range(3)]
    make_table(*addresses)
    before = epochs(*addresses)
    told = told_by(status("--json", addresses[1]))
    assert [shard["address"] for shard in told["shards"]] == addresses
    assert [shard["slots"] for shard in told["shards"]] == [5462, 5461, 5461]
    assert all(shard["answers"] for shard in told["shards"])
    assert [shard["load"] for shard in told["shards"]] == [None] * 3
    assert told["imbalance"] is None and told["moves"] == []
    assert epochs(*addresses) == before == [told["epoch"]] * 3


def test_a_shard_that_is_down_is_shown(status, start_ps, make_table):
    (first, address, _), (_, other, _) = start_ps(), start_ps()
    make_table(address, other)
    first.end()
    command = status("--timeout=1", "--json", f"{address},{other}", code=1)
    assert [shard["answers"] for shard in told_by(command)["shards"]] == [False, True]
    # It need not be listed: then it is no failure of the command.
    text = status("--timeout=1", other).stdout
    [line] = [line for line in text.splitlines() if line.startswith(address)]
    assert line.split() == [address, "8192", "50.0%", "-", "DOWN", "-"]


def test_a_worker_tells_of_the_cluster_behind_it(
    status, start_ps, start_server, make_table
):
    addresses = [start_ps()[1] for _ in range(2)]
    _, worker, _ = start_server("worker", f"--ps={','.join(addresses)}")
    make_table(worker)
    told = told_by(status("--json", worker))
    assert [shard["address"] for shard in told["shards"]] == addresses


def test_shards_of_two_clusters_are_no_cluster(status, start_ps, make_table):
    addresses = [start_ps()[1] for _ in range(2)]
    for address in addresses:
        make_table(address)
    told = json.loads(status("--json", ",".join(addresses)).stdout)
    assert told["topology"] is None
    assert "cluster" in told["topology_error"]
    text = status(",".join(addresses)).stdout
    assert "The cluster of these shards is not known: " in text


def test_the_load_can_be_measured(status, start_ps, make_table):
    address = start_ps()[1]
    make_table(address)
    text = status("--measure=0.1", address).stdout
    assert "No rows were asked for over 0.1 s." in text


def test_a_standby_is_shown_beside_its_shard(
    status, start_ps, make_table, wait_until, tmp_path
):
    _, primary, _ = start_ps(f"--recovery-folder={tmp_path}/primary")
    make_table(primary)
    _, standby, _ = start_ps(
        f"--recovery-folder={tmp_path}/standby", f"--standby-of={primary}"
    )

    def shown():
        [shard] = told_by(status("--json", f"{standby},{primary}"))["shards"]
        assert shard["address"] == primary
        return shard["standby"] == standby

    wait_until(shown, "the standby to be shown")
    assert f"up  {standby}" in status(primary).stdout
    told = json.loads(status("--json", standby).stdout)
    assert told["topology"] is None and told["topology_error"] == ""
