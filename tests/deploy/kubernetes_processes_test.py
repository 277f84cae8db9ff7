"""Processes in the pods of deploy/kubernetes: options, probes, memory, time."""

from __future__ import annotations

from pathlib import Path

import kubernetes_checks as checks
import kubernetes_manifests as manifests
import pytest
from common import training

from persia_tf import _version
from persia_tf.base import addresses
from persia_tf.commands import main
from persia_tf.processes import health, signals

ROOT = Path(__file__).parents[2]
IMAGES = {"persia-tf-server", "persia-tf-trainer"}
SERVERS = {
    "shard": ("ps", health.PS_SERVICE),
    "standby": ("ps", health.PS_SERVICE),
    "embedding-worker": ("worker", health.WORKER_SERVICE),
}

every_cluster = pytest.mark.parametrize("cluster", manifests.CLUSTERS)


@pytest.fixture(autouse=True)
def shards_of_the_environment(monkeypatch):
    """`persia worker` reads its shards there when it parses its arguments."""
    monkeypatch.setenv(addresses.SHARDS_VARIABLE, "persia-ps-0.persia-ps:7000")


def shards(cluster):
    [pod] = manifests.pods(cluster, "shard")
    return pod


@every_cluster
def test_every_container_has_resources_and_as_much_memory_as_it_may_use(cluster):
    for pod in manifests.pods(cluster):
        resources = pod.container["resources"]
        assert resources["requests"]["memory"] == resources["limits"]["memory"]
        assert resources["requests"]["cpu"]


@every_cluster
def test_every_image_is_ours_and_of_this_version(cluster):
    for pod in manifests.pods(cluster):
        name, _, tag = pod.container["image"].rpartition(":")
        assert name.removeprefix("REGISTRY/") in IMAGES
        assert tag == _version.__version__
        assert "command" not in pod.container  # The image's own entry point stays.


@every_cluster
def test_every_pod_that_serves_has_probes(cluster):
    for pod in manifests.pods(cluster):
        if pod.owner["kind"] in ("Deployment", "StatefulSet") and pod.ports:
            for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert pod.container[kind]


@pytest.mark.parametrize("component", SERVERS)
def test_probes_ask_the_control_port_for_the_service(component, tmp_path):
    [pod] = manifests.pods("plain", component)
    args = checks.parsed(pod, tmp_path)
    assert args.control_plain  # Probes do not speak TLS.
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert pod.container[kind]["grpc"] == {
            "port": args.control_port,
            "service": SERVERS[component][1],
        }


@every_cluster
def test_arguments_of_servers_parse_and_agree_with_their_ports(cluster, tmp_path):
    for pod in manifests.pods(cluster, *SERVERS):
        args = checks.parsed(pod, tmp_path)
        assert args.command == SERVERS[pod.component][0]
        assert args.host == "0.0.0.0"
        assert pod.ports == {
            "data": args.port,
            "control": args.control_port,
            "metrics": args.metrics_port,
        }


def test_arguments_of_data_workers_parse_and_agree_with_their_ports(tmp_path):
    [dispatcher] = manifests.pods("plain", "data-dispatcher")
    [worker] = manifests.pods("plain", "data-worker")
    address = f"data-dispatcher:{dispatcher.ports['grpc']}"
    for pod, action in ((dispatcher, "dispatcher"), (worker, "worker")):
        program, *args = checks.arguments_below(pod, tmp_path)
        assert program == "persia"
        values = main.parser().parse_args(args)
        assert (values.command, values.action) == ("data", action)
        assert values.insecure
        assert pod.ports == {"grpc": values.port}
    assert str(values.dispatcher) == address
    assert values.host == f"$(POD_NAME).{worker.owner['spec']['serviceName']}"
    for pod in manifests.pods("with a volume", "trainer"):
        found = pod.environment(manifests.rendered("with a volume"))
        assert found["PERSIA_DATA"] == address


@pytest.mark.parametrize("cluster", ["plain", "with a volume", "with a bucket"])
def test_arguments_of_trainers_parse(cluster):
    found = manifests.pods(cluster, "trainer")
    assert len(found) == 4
    for pod in found:
        python, program, *args = pod.container["args"]
        assert python == "python"
        assert (ROOT / program).is_file()
        training.training_parser("", epochs=1, batch_size=1).parse_args(args)
        environment = pod.environment(manifests.rendered(cluster))
        assert environment["PERSIA_METRICS_PORT"] == str(pod.ports["metrics"])
        assert environment["PERSIA_METRICS_HOST"] == "0.0.0.0"


@pytest.mark.parametrize(
    ("cluster", "root"),
    [
        ("plain", None),
        ("with a volume", "{tmp_path}/checkpoints"),
        ("with a bucket", "s3://BUCKET/persia"),
    ],
)
def test_checkpoints_are_where_the_component_says(cluster, root, tmp_path):
    found = checks.parsed(shards(cluster), tmp_path).checkpoint_root
    assert found == (root and root.format(tmp_path=tmp_path))


def test_a_volume_has_room_for_three_times_the_rows_and_the_log(tmp_path):
    checks.check_room(shards("plain"), tmp_path)


@every_cluster
def test_servers_have_time_to_drain(cluster):
    for pod in manifests.pods(cluster, *SERVERS):
        before = pod.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {})
        needed = before.get("seconds", 0) + signals.DRAIN_SECONDS
        assert pod.spec["terminationGracePeriodSeconds"] >= needed + 10


@pytest.mark.parametrize(
    ("cluster", "scaled"),
    [("plain", {"persia-worker"}), ("scaled", {"persia-worker", "persia-ps"})],
)
def test_the_autoscaler_alone_sets_the_number_of_servers(cluster, scaled):
    objects = manifests.rendered(cluster)
    scalers = manifests.of_kind(objects, "HorizontalPodAutoscaler")
    assert set(scalers) == scaled
    for scaler in scalers.values():
        target = scaler["spec"]["scaleTargetRef"]
        owner = manifests.of_kind(objects, target["kind"])[target["name"]]
        assert "replicas" not in owner["spec"]
