"""Shards of a StatefulSet that is scaled, with the commands of the manifests."""

from __future__ import annotations

import shutil

import kubernetes_checks as checks
import kubernetes_manifests as manifests
import pytest
from api_server import ApiServer, Pods
from harness import DEADLINE_SECONDS, wait_until
from reshard_test import slots_of
from training import SeededTraining, assert_same_rows

import persia_tf as ptf
from persia_tf.resharding.promotion import promote


@pytest.fixture
def pods(tmp_path, certificates):
    with ApiServer(tmp_path, certificates.tls("ps-0").get_config()) as api:
        started = Pods(tmp_path, api)
        yield started
        started.end()


def resharder_of(pods, *options):
    """Starts the process of the Deployment."""
    [pod] = manifests.pods("scaled", "resharder")
    return pods.command([*pod.container["args"], *options])


def hook_of(pods, shard):
    """Starts the preStop hook of a shard's pod."""
    pod = checks.shard_of(manifests.rendered("scaled"))
    program, *args = pod.container["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "persia"
    [variable] = pod.container["env"]
    label = "metadata.labels['apps.kubernetes.io/pod-index']"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == label
    return pods.command(args, {variable["name"]: str(shard.ordinal)})


def end_of(command):
    """The exit code of a process, and what it printed."""
    out, err = command.communicate(timeout=DEADLINE_SECONDS)
    return command.returncode, out + err


def trained(table, shards):
    """Makes some shards a cluster with rows."""
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=20, staleness=0)
    SeededTraining(steps=5).run(table, cluster)
    return cluster


def wait_for_slots(shards, expected):
    wait_until(lambda: slots_of(shards) == expected, f"slots {expected}")


def test_the_shards_are_scaled_up_and_down(table, pods, rows_of):
    shards = [pods.start(ordinal) for ordinal in range(2)]
    cluster = trained(table, shards)
    before = rows_of(table, cluster)
    resharder_of(pods)
    pods.api.scale(3)
    shards.append(pods.start(2))
    wait_until(lambda: min(slots_of(shards)) == 5461, "the third shard's share")
    assert_same_rows(rows_of(table, cluster), before)
    pods.api.scale(2)
    assert end_of(hook_of(pods, shards[2])) == (
        *(0, f"{shards[2].address} may end: it owns no rows any more\n"),
    )
    assert slots_of(shards) == [8192, 8192, 0]
    shards[2].stop()
    assert_same_rows(rows_of(table, cluster), before)
    # The volume stays, so the pod comes back with what it knew.
    pods.api.scale(3)
    pods.start(2)
    wait_until(lambda: min(slots_of(shards)) == 5461, "the third shard's share")
    assert_same_rows(rows_of(table, cluster), before)


def test_several_pods_come_and_go_at_once(table, pods, rows_of):
    shards = [pods.start(ordinal) for ordinal in range(2)]
    cluster = trained(table, shards)
    before = rows_of(table, cluster)
    resharder_of(pods)
    pods.api.scale(5)
    shards += [pods.start(ordinal) for ordinal in (2, 4)]
    # The pod 3 finds no node.
    wait_for_slots(shards, [4096] * 4)
    pods.api.scale(1)
    hooks = [hook_of(pods, shard) for shard in shards[1:]]
    assert [end_of(hook)[0] for hook in hooks] == [0, 0, 0]
    assert slots_of(shards) == [16384, 0, 0, 0]
    for shard in shards[1:]:
        shard.stop()
    assert_same_rows(rows_of(table, cluster), before)


def test_a_pod_that_is_restarted_keeps_its_rows(table, pods):
    shards = [pods.start(ordinal) for ordinal in range(2)]
    trained(table, shards)
    code, told = end_of(hook_of(pods, shards[1]))
    assert (code, "it keeps its rows" in told) == (0, True)
    assert slots_of(shards) == [8192, 8192]


def test_a_scale_down_that_is_taken_back_ends_the_wait(table, pods):
    shards = [pods.start(ordinal) for ordinal in range(2)]
    trained(table, shards)
    pods.api.scale(1)
    hook = hook_of(pods, shards[1])  # Nobody moves the rows.
    with pytest.raises(Exception, match="timed out"):
        hook.wait(3)
    pods.api.scale(2)
    code, told = end_of(hook)
    assert code == 0
    assert "it keeps its rows" in told


@pytest.mark.parametrize("stateful_set", ["of no pods", "deleted", "being deleted"])
def test_a_cluster_that_is_stopped_keeps_its_rows(stateful_set, table, pods):
    shards = [pods.start(ordinal) for ordinal in range(2)]
    trained(table, shards)
    pods.api.stateful_set = {
        "of no pods": {"metadata": {}, "spec": {"replicas": 0}},
        "deleted": None,
        "being deleted": {
            "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"replicas": 1},
        },
    }[stateful_set]
    assert [end_of(hook_of(pods, shard))[0] for shard in shards] == [0, 0]
    assert slots_of(shards) == [8192, 8192]


def test_a_resharder_that_is_killed_goes_on_later(table, pods, rows_of):
    shards = [pods.start(ordinal) for ordinal in range(3)]
    cluster = trained(table, shards[:2])
    before = rows_of(table, cluster)
    pods.api.scale(3)
    # Within the move of the first of two shards.
    slow = resharder_of(pods, "--rate=2KiB")
    wait_until(lambda: 0 < slots_of(shards)[2] < 5461, "a part of the third's share")
    slow.kill()
    resharder_of(pods)
    wait_until(lambda: min(slots_of(shards)) >= 5461, "the third shard's share")
    assert_same_rows(rows_of(table, cluster), before)


def test_a_shard_that_ends_too_early_keeps_its_rows_for_later(table, pods, rows_of):
    shards = [pods.start(ordinal) for ordinal in range(2)]
    cluster = trained(table, shards)
    before = rows_of(table, cluster)
    # As by Kubernetes, after the grace period.
    shards[1].kill()
    pods.api.scale(1)
    resharder = resharder_of(pods, "--timeout=1")
    said = f"{shards[1].address}: "
    wait_until(lambda: said in resharder.stderr.readline(), "the shard's address")
    pods.api.scale(2)
    pods.start(1)
    assert_same_rows(rows_of(table, cluster), before)
    pods.api.scale(1)
    assert end_of(hook_of(pods, shards[1]))[0] == 0
    assert slots_of(shards) == [16384, 0]
    assert_same_rows(rows_of(table, cluster), before)


def test_a_promoted_standby_counts_as_the_pod_whose_place_it_took(
    table, pods, shard_process, tmp_path
):
    shards = [pods.start(ordinal) for ordinal in range(2)]
    standby = shard_process(
        options=[
            f"--recovery-folder={tmp_path}/standby",
            f"--standby-of={shards[1].address}",
        ]
    )
    trained(table, shards)
    told = f"this shard has a standby at {standby.address}"
    wait_until(lambda: told in shards[1].log, "the standby to have all rows")
    shards[1].kill()
    promote(standby.address, primary_is_gone=True, timeout=DEADLINE_SECONDS)
    shutil.rmtree(tmp_path / "pod-1" / "volume")
    pods.start(1)  # Without its rows, and no member of the cluster any more.
    template = standby.address.replace("127.0.0.1", "127.0.0.{ordinal}")
    resharder_of(pods, f"--standby-address={template}")
    members = [shards[0], standby]
    pods.api.scale(3)
    members.append(pods.start(2))
    wait_until(lambda: min(slots_of(members)) == 5461, "the third shard's share")
    pods.api.scale(1)
    wait_for_slots(members, [16384, 0, 0])


def test_a_resharder_ends_when_it_is_told_to(pods):
    resharder = resharder_of(pods, "--log-level=debug")
    pods.api.status = 500
    wait_until(lambda: "answered 500" in resharder.stderr.readline(), "a round")
    resharder.terminate()
    assert resharder.wait(DEADLINE_SECONDS) == 0


def test_a_shard_of_no_cluster_ends(pods):
    shard = pods.start(1)
    pods.api.scale(1)
    code, told = end_of(hook_of(pods, shard))
    assert (code, "it belongs to no cluster" in told) == (0, True)


def test_a_pod_without_the_right_to_ask_is_told(table, pods):
    pods.api.status = 403
    code, told = end_of(hook_of(pods, pods.start(1)))
    assert code == 1
    assert "answered 403 to a request for /apis/apps/v1/namespaces/persia" in told
    assert "statefulsets is forbidden" in told
