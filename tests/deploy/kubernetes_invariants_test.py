"""What schemas cannot say of deploy/kubernetes: names, ports, security, sizes, options."""

from __future__ import annotations

import json
import re
from pathlib import Path

import kubernetes_manifests as manifests
import pytest
from common import training

from persia_tf import _version
from persia_tf.base import addresses
from persia_tf.cluster import shards_of_environment
from persia_tf.commands import main
from persia_tf.processes import health, signals

ROOT = Path(__file__).parents[2]
IMAGES = {"persia-tf-server", "persia-tf-trainer"}
SERVERS = {
    "shard": ("ps", health.PS_SERVICE),
    "embedding-worker": ("worker", health.WORKER_SERVICE),
}
TOKEN = "/etc/persia/token/token"

every_cluster = pytest.mark.parametrize("cluster", manifests.CLUSTERS)


def pods(cluster, *components):
    found = manifests.pods_of(manifests.rendered(cluster))
    assert found
    return [pod for pod in found if not components or pod.component in components]


def shards(cluster):
    [pod] = pods(cluster, "shard")
    return pod


def environment(pod, objects):
    """The pod's variables; those of its container come before the ConfigMap's."""
    values = {}
    for source in pod.container.get("envFrom", ()):
        if "configMapRef" in source:
            name = source["configMapRef"]["name"]
            values.update(manifests.of_kind(objects, "ConfigMap")[name]["data"])
    for variable in pod.container.get("env", ()):
        values[variable["name"]] = variable.get("value", "")
    return values


def parsed(pod, folder):
    """The arguments of a pod of `persia`, whose folders are below `folder`."""
    args = [each.replace("=/", f"={folder}/", 1) for each in pod.container["args"]]
    values, unknown = main.parser().parse_known_args(args)
    assert not unknown
    return values


def ports(pod):
    return {each["name"]: each["containerPort"] for each in pod.container["ports"]}


@every_cluster
def test_every_container_has_resources_and_as_much_memory_as_it_may_use(cluster):
    for pod in pods(cluster):
        resources = pod.container["resources"]
        assert resources["requests"]["memory"] == resources["limits"]["memory"]
        assert resources["requests"]["cpu"]


@every_cluster
def test_every_pod_keeps_to_the_restricted_profile(cluster):
    for pod in pods(cluster):
        assert pod.spec["securityContext"].items() >= {
            "runAsNonRoot": True,
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "fsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        }.items()
        assert pod.container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod.spec["automountServiceAccountToken"] is False
        assert "/tmp" in [each["mountPath"] for each in pod.container["volumeMounts"]]
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            assert key not in pod.spec


@every_cluster
def test_every_pod_that_serves_has_probes(cluster):
    for pod in pods(cluster):
        if pod.owner["kind"] not in ("Deployment", "StatefulSet"):
            continue
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert pod.container[kind]


@pytest.mark.parametrize("component", SERVERS)
def test_probes_ask_the_control_port_for_the_service(component, tmp_path):
    [pod] = pods("plain", component)
    args, service = parsed(pod, tmp_path), SERVERS[component][1]
    assert args.control_plain  # Probes do not speak TLS.
    for kind in ("startupProbe", "readinessProbe"):
        assert pod.container[kind]["grpc"] == {
            "port": args.control_port,
            "service": service,
        }
    # Draining is no reason to kill the process, but "not serving" is no death either.
    assert pod.container["livenessProbe"]["grpc"]["port"] == args.control_port


@every_cluster
def test_arguments_of_servers_parse_and_agree_with_their_ports(
    cluster, tmp_path, monkeypatch
):
    objects = manifests.rendered(cluster)
    for pod in pods(cluster, *SERVERS):
        values = environment(pod, objects)
        monkeypatch.setenv(addresses.SHARDS_VARIABLE, values["PERSIA_PS"])
        args = parsed(pod, tmp_path)
        assert args.command == SERVERS[pod.component][0]
        assert args.host == "0.0.0.0"
        assert ports(pod) == {
            "data": args.port,
            "control": args.control_port,
            "metrics": args.metrics_port,
        }
        assert "command" not in pod.container  # The image's own is `persia`.
        assert values["PERSIA_AUTH_TOKEN_FILE"] == TOKEN


@pytest.mark.parametrize(
    ("cluster", "root"),
    [("plain", None), ("with a volume", "/checkpoints"), ("with a bucket", "s3://")],
)
def test_checkpoints_are_where_the_component_says(cluster, root, tmp_path):
    found = parsed(shards(cluster), tmp_path).checkpoint_root
    if root is None:
        assert found is None
    elif root.startswith("s3:"):
        assert found.startswith(root)
    else:
        assert found == f"{tmp_path}{root}"
        mounts = shards(cluster).container["volumeMounts"]
        assert root in [each["mountPath"] for each in mounts]


@pytest.mark.parametrize("cluster", ["plain", "with a volume", "with a bucket"])
def test_arguments_of_trainers_parse(cluster):
    found = pods(cluster, "trainer")
    assert len(found) == 4
    for pod in found:
        python, program, *args = pod.container["args"]
        assert python == "python"
        assert (ROOT / program).is_file()
        training.training_parser("", epochs=1, batch_size=1).parse_args(args)
        assert ports(pod)["metrics"] == 9400
        values = environment(pod, manifests.rendered(cluster))
        assert values["PERSIA_METRICS_PORT"] == "9400"
        assert values["PERSIA_METRICS_HOST"] == "0.0.0.0"


@every_cluster
def test_the_list_of_shards_is_that_of_the_pods(cluster):
    pod = shards(cluster)
    name, service = pod.owner["metadata"]["name"], pod.owner["spec"]["serviceName"]
    values = environment(pod, manifests.rendered(cluster))
    assert values["PERSIA_PS"].split(",") == [
        f"{name}-{index}.{service}:7000"
        for index in range(pod.owner["spec"]["replicas"])
    ]


@pytest.mark.parametrize(
    ("cluster", "direct"), [("plain", True), ("with a volume", False)]
)
def test_trainers_find_the_shards_or_the_workers(cluster, direct, monkeypatch):
    objects = manifests.rendered(cluster)
    listed = environment(shards(cluster), objects)["PERSIA_PS"]
    for pod in pods(cluster, "trainer"):
        values = environment(pod, objects)
        monkeypatch.setenv("PERSIA_PS", values["PERSIA_PS"])
        monkeypatch.setenv(
            "TF_CONFIG", values.get("TF_CONFIG", "").replace("$(TASK_INDEX)", "1")
        )
        expected = listed if direct else "persia-worker:7100"
        assert shards_of_environment() == expected.split(",")


def test_tf_config_of_the_operator_of_tfjobs_leaves_the_shards(monkeypatch):
    peers = [f"multi-worker-worker-{index}.persia.svc:2222" for index in range(2)]
    config = {
        "cluster": {"worker": peers},
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    monkeypatch.setenv("PERSIA_PS", "persia-ps-0.persia-ps:7000")
    assert shards_of_environment() == ["persia-ps-0.persia-ps:7000"]


@pytest.mark.parametrize(
    ("kind", "name"), [("JobSet", "multi-worker"), ("TrainingRuntime", "persia")]
)
def test_tf_config_names_the_pods_of_the_job_set(kind, name):
    objects = manifests.rendered("plain")
    item = manifests.of_kind(objects, kind)[name]
    job_set, spec = name, item["spec"]
    if kind == "TrainingRuntime":
        [(job_set, job)] = manifests.of_kind(objects, "TrainJob").items()
        assert job["spec"]["runtimeRef"]["name"] == name
        assert job["spec"]["trainer"]["numNodes"] == spec["mlPolicy"]["numNodes"]
        spec = spec["template"]["spec"]
    [job] = spec["replicatedJobs"]
    count = job["template"]["spec"]["completions"]
    assert count == job["template"]["spec"]["parallelism"] == 2
    assert job["template"]["spec"]["completionMode"] == "Indexed"
    [pod] = manifests.pods_of([item])
    port = ports(pod)["tensorflow"]
    text = environment(pod, objects)["TF_CONFIG"]
    for index in range(count):
        assert json.loads(text.replace("$(TASK_INDEX)", str(index))) == {
            "cluster": {
                "worker": [
                    f"{job_set}-{job['name']}-0-{peer}.{job_set}:{port}"
                    for peer in range(count)
                ]
            },
            "task": {"type": "worker", "index": index},
        }
    # Kubernetes replaces $(NAME) only by variables that are listed before.
    names = [each["name"] for each in pod.container["env"]]
    assert names.index("TASK_INDEX") < names.index("TF_CONFIG")


@every_cluster
def test_every_image_is_ours_and_of_this_version(cluster):
    for pod in pods(cluster):
        name, _, tag = pod.container["image"].rpartition(":")
        assert name.removeprefix("REGISTRY/") in IMAGES
        assert tag == _version.__version__


@every_cluster
def test_what_pods_refer_to_exists(cluster):
    objects = manifests.rendered(cluster)
    guide = (ROOT / "docs/kubernetes.md").read_text()
    claims = set(manifests.of_kind(objects, "PersistentVolumeClaim"))
    maps = set(manifests.of_kind(objects, "ConfigMap"))
    if cluster == "gke":  # The overlay of the cluster makes them.
        assert {"persia-checkpoints", "persia-cluster"} == claims | maps
    for pod in pods(cluster):
        assert pod.spec["serviceAccountName"] in manifests.of_kind(
            objects, "ServiceAccount"
        )
        secrets = set()
        for source in pod.container.get("envFrom", ()):
            if "configMapRef" in source:
                assert source["configMapRef"]["name"] in maps
            else:
                secrets.add(source["secretRef"]["name"])
        volumes = {
            each["metadata"]["name"]
            for each in pod.owner["spec"].get("volumeClaimTemplates", ())
        }
        for volume in pod.spec["volumes"]:
            volumes.add(volume["name"])
            if "configMap" in volume:
                assert volume["configMap"]["name"] in maps
            elif "secret" in volume:
                secrets.add(volume["secret"]["secretName"])
                assert volume["secret"]["defaultMode"] == 0o440
            elif "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
            else:
                assert "emptyDir" in volume
        mounted = {each["name"] for each in pod.container["volumeMounts"]}
        assert mounted == volumes
        for secret in secrets:
            assert f"create secret generic {secret}" in guide


@every_cluster
def test_services_and_budgets_and_policies_select_pods_with_their_ports(cluster):
    objects = manifests.rendered(cluster)
    for service in manifests.of_kind(objects, "Service").values():
        selected = selected_by(service["spec"]["selector"], cluster)
        assert len(selected) == 1
        for port in service["spec"]["ports"]:
            assert ports(selected[0])[port["targetPort"]] == port["port"]
    for budget in manifests.of_kind(objects, "PodDisruptionBudget").values():
        labels = budget["spec"]["selector"]["matchLabels"]
        assert len(selected_by(labels, cluster)) == 1
    for policy in manifests.of_kind(objects, "NetworkPolicy").values():
        # Trainers come from other folders than the policy for them.
        selected = selected_by(policy["spec"]["podSelector"]["matchLabels"], cluster)
        assert selected
        for rule in policy["spec"]["ingress"]:
            for port in rule.get("ports", ()):
                assert all(port["port"] in ports(pod) for pod in selected)
    for item in manifests.pods_of(objects):
        if "selector" in item.owner["spec"]:
            chosen = item.owner["spec"]["selector"]["matchLabels"]
            assert chosen.items() <= item.labels.items()
    for scaler in manifests.of_kind(objects, "HorizontalPodAutoscaler").values():
        target = scaler["spec"]["scaleTargetRef"]
        deployment = manifests.of_kind(objects, target["kind"])[target["name"]]
        assert "replicas" not in deployment["spec"]  # Else applying it would reset it.


def selected_by(labels, cluster):
    return [pod for pod in pods(cluster) if labels.items() <= pod.labels.items()]


@pytest.mark.parametrize(
    ("component", "port", "expected"),
    [
        ("shard", "data", {"shard", "embedding-worker", "trainer"}),
        ("shard", "control", set()),  # The kubelet of the node may always.
        ("shard", "metrics", {"prometheus"}),
        ("embedding-worker", "data", {"shard", "trainer"}),
        ("embedding-worker", "metrics", {"prometheus"}),
        ("trainer", "tensorflow", {"trainer"}),
        ("trainer", "metrics", {"trainer", "prometheus"}),
        ("data-dispatcher", "grpc", {"data-worker", "trainer"}),
        ("data-worker", "grpc", {"trainer"}),
    ],
)
def test_only_these_may_connect(component, port, expected):
    [policy] = [
        each
        for each in manifests.of_kind(
            manifests.rendered("plain"), "NetworkPolicy"
        ).values()
        if each["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        == component
    ]
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    allowed = set()
    for rule in policy["spec"]["ingress"]:
        if any(each["port"] == port for each in rule.get("ports", [{"port": port}])):
            for peer in rule["from"]:
                allowed |= {name for name in PEERS if accepts(peer, *PEERS[name])}
    assert allowed == expected


def _own(component):
    return {
        "app.kubernetes.io/name": "persia",
        "app.kubernetes.io/component": component,
    }, "persia"


# Pods that may try to connect: their labels, and their namespace.
PEERS = {
    **{
        name: _own(name)
        for name in (
            *("shard", "embedding-worker", "trainer"),
            *("data-dispatcher", "data-worker"),
        )
    },
    "prometheus": ({"app.kubernetes.io/name": "prometheus"}, "monitoring"),
    "another prometheus": ({"app.kubernetes.io/name": "prometheus"}, "persia"),
    "another program": ({"app.kubernetes.io/name": "shop"}, "persia"),
    "a trainer of another namespace": (_own("trainer")[0], "shop"),
}


def accepts(peer, labels, namespace):
    wanted = peer.get("namespaceSelector", {}).get(
        "matchLabels", {"kubernetes.io/metadata.name": "persia"}
    )
    if wanted != {"kubernetes.io/metadata.name": namespace}:
        return False
    selector = peer["podSelector"]
    for rule in selector.get("matchExpressions", ()):
        assert rule["operator"] == "In"
        if labels.get(rule["key"]) not in rule["values"]:
            return False
    return selector.get("matchLabels", {}).items() <= labels.items()


def test_the_monitor_finds_every_port_of_metrics():
    objects = manifests.rendered("plain")
    [monitor] = manifests.of_kind(objects, "PodMonitor").values()
    labels = monitor["spec"]["selector"]["matchLabels"]
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    found = {
        pod.component
        for pod in selected_by(labels, "plain")
        if endpoint["port"] in ports(pod)
    }
    assert found == {"shard", "embedding-worker", "trainer"}


def test_a_volume_has_room_for_three_times_the_rows_and_the_log(tmp_path):
    pod = shards("plain")
    [text] = [
        each for each in pod.container["args"] if each.startswith("--memory-limit")
    ]
    share = int(re.fullmatch(r"--memory-limit=(\d+)%", text)[1]) / 100
    memory = manifests.bytes_of(pod.container["resources"]["limits"]["memory"])
    [claim] = pod.owner["spec"]["volumeClaimTemplates"]
    storage = manifests.bytes_of(claim["spec"]["resources"]["requests"]["storage"])
    assert storage >= 3 * share * memory + parsed(pod, tmp_path).log_size
    # The rest of the memory has room for requests of all connections: SECURITY.md.
    assert (1 - share) * memory >= 1.25 * 2**30


@every_cluster
def test_servers_have_time_to_drain(cluster):
    for pod in pods(cluster, *SERVERS):
        before = pod.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {})
        needed = before.get("seconds", 0) + signals.DRAIN_SECONDS
        assert pod.spec["terminationGracePeriodSeconds"] >= needed + 10


@pytest.mark.parametrize("cluster", ["with a volume", "with a bucket"])
def test_tls_names_files_that_every_pod_mounts(cluster):
    objects = manifests.rendered(cluster)
    for pod in pods(cluster, *SERVERS, "trainer"):
        values = environment(pod, objects)
        assert {
            "PERSIA_TLS_CERTIFICATE": "/etc/persia/tls/tls.crt",
            "PERSIA_TLS_KEY": "/etc/persia/tls/tls.key",
            "PERSIA_TLS_CA": "/etc/persia/tls/ca.crt",
        }.items() <= values.items()
        mounts = [each["mountPath"] for each in pod.container["volumeMounts"]]
        assert "/etc/persia/tls" in mounts
    [monitor] = manifests.of_kind(objects, "PodMonitor").values()
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    [relabeling] = endpoint["relabelings"]
    assert relabeling["replacement"] == "https"
    assert relabeling["regex"].split("|") == list(SERVERS)
