"""What the pods of deploy/kubernetes may do, and who may connect to them."""

from __future__ import annotations

import kubernetes_manifests as manifests
import pytest

every_cluster = pytest.mark.parametrize("cluster", manifests.CLUSTERS)

OURS = (
    "shard",
    "standby",
    "resharder",
    "embedding-worker",
    "trainer",
    "model-server",
    "data-dispatcher",
    "data-worker",
)


# Who may connect to shards.
OF_SHARDS = {
    "shard",
    "standby",
    "resharder",
    "embedding-worker",
    "trainer",
    "model-server",
}


@every_cluster
def test_every_pod_keeps_to_the_restricted_profile(cluster):
    for pod in manifests.pods(cluster):
        assert (
            pod.spec["securityContext"].items()
            >= {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "runAsGroup": 10001,
                "fsGroup": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            }.items()
        )
        assert pod.container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert not pod.spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
        assert not any("hostPort" in each for each in pod.container.get("ports", ()))


@every_cluster
def test_only_pods_that_are_scaled_have_a_token_of_kubernetes(cluster):
    is_scaled = cluster in ("scaled", "gke")
    for pod in manifests.pods(cluster):
        has_token = is_scaled and pod.component in ("shard", "resharder")
        account = "persia-scaling" if has_token else "persia"
        assert pod.spec["automountServiceAccountToken"] is has_token
        assert pod.spec["serviceAccountName"] == account


@pytest.mark.parametrize("cluster", ["scaled", "gke"])
def test_the_token_only_shows_how_many_shards_there_are_to_be(cluster):
    objects = manifests.rendered(cluster)
    [role] = manifests.of_kind(objects, "Role").values()
    [shard] = manifests.pods(cluster, "shard")
    assert role["rules"] == [
        {
            "apiGroups": ["apps"],
            "resources": ["statefulsets"],
            "resourceNames": [shard.owner["metadata"]["name"]],
            "verbs": ["get"],
        }
    ]
    [binding] = manifests.of_kind(objects, "RoleBinding").values()
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    [subject] = binding["subjects"]
    assert subject["name"] == shard.spec["serviceAccountName"]
    # Kustomize writes the namespace of the overlay there.
    assert subject.get("namespace") == role["metadata"].get("namespace")


@every_cluster
def test_programs_can_write_temporary_files(cluster):
    for pod in manifests.pods(cluster):
        assert "/tmp" in [each["mountPath"] for each in pod.container["volumeMounts"]]


@every_cluster
def test_only_the_group_of_the_process_can_read_secrets(cluster):
    for pod in manifests.pods(cluster):
        for volume in pod.spec["volumes"]:
            if "secret" in volume:
                assert volume["secret"]["defaultMode"] == 0o440


@every_cluster
def test_policies_select_pods_with_their_ports(cluster):
    policies = manifests.of_kind(manifests.rendered(cluster), "NetworkPolicy")
    assert policies
    for policy in policies.values():
        labels = policy["spec"]["podSelector"]["matchLabels"]
        selected = [
            pod
            for pod in manifests.pods(cluster)
            if labels.items() <= pod.labels.items()
        ]
        assert selected
        for rule in policy["spec"]["ingress"]:
            for port in rule.get("ports", ()):
                assert all(port["port"] in pod.ports for pod in selected)


@pytest.mark.parametrize(
    ("component", "port", "expected"),
    [
        ("shard", "data", OF_SHARDS),
        ("standby", "data", OF_SHARDS),
        ("standby", "metrics", {"prometheus"}),
        ("shard", "control", set()),  # The kubelet of the node may always connect.
        ("shard", "metrics", {"prometheus"}),
        ("embedding-worker", "data", {"shard", "trainer", "model-server"}),
        ("embedding-worker", "metrics", {"prometheus"}),
        ("trainer", "tensorflow", {"trainer"}),
        ("trainer", "metrics", {"trainer", "prometheus"}),
        ("data-dispatcher", "grpc", {"data-worker", "trainer"}),
        ("data-worker", "grpc", {"trainer"}),
    ],
)
def test_only_these_may_connect(component, port, expected):
    policies = manifests.of_kind(manifests.rendered("plain"), "NetworkPolicy")
    [policy] = [
        each["spec"]
        for each in policies.values()
        if each["spec"]["podSelector"]["matchLabels"] == ours(component)
    ]
    assert policy["policyTypes"] == ["Ingress"]
    allowed = {
        name
        for rule in policy["ingress"]
        if any(each["port"] == port for each in rule.get("ports", [{"port": port}]))
        for peer in rule["from"]
        for name in PEERS
        if accepts(peer, *PEERS[name])
    }
    assert allowed == expected


def ours(component):
    return {
        "app.kubernetes.io/name": "persia",
        "app.kubernetes.io/component": component,
    }


# Pods that may try to connect: their labels, and their namespace.
PEERS = {
    **{component: (ours(component), "persia") for component in OURS},
    "prometheus": ({"app.kubernetes.io/name": "prometheus"}, "monitoring"),
    "another prometheus": ({"app.kubernetes.io/name": "prometheus"}, "persia"),
    "another program": ({"app.kubernetes.io/name": "shop"}, "persia"),
    "a trainer of another namespace": (ours("trainer"), "shop"),
}


def accepts(peer, labels, namespace):
    """Whether an entry of a policy's `from` selects a pod."""
    own_namespace = {"matchLabels": {"kubernetes.io/metadata.name": "persia"}}
    wanted = peer.get("namespaceSelector", own_namespace)["matchLabels"]
    if wanted != {"kubernetes.io/metadata.name": namespace}:
        return False
    selector = peer["podSelector"]
    for rule in selector.get("matchExpressions", ()):
        assert rule["operator"] == "In"
        if labels.get(rule["key"]) not in rule["values"]:
            return False
    return selector.get("matchLabels", {}).items() <= labels.items()
