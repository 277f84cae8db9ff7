"""What the pods of deploy/kubernetes may do, and who may connect to them."""

from __future__ import annotations

import kubernetes_manifests as manifests
import pytest

every_cluster = pytest.mark.parametrize("cluster", manifests.CLUSTERS)

OURS = (
    "shard",
    "embedding-worker",
    "trainer",
    "model-server",
    "data-dispatcher",
    "data-worker",
)


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
        assert not any("hostPort" in each for each in pod.container["ports"])


@every_cluster
def test_no_pod_has_a_token_of_kubernetes(cluster):
    for pod in manifests.pods(cluster):
        assert pod.spec["automountServiceAccountToken"] is False


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
        ("shard", "data", {"shard", "embedding-worker", "trainer", "model-server"}),
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
