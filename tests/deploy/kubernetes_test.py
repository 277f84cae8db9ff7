"""Every object of deploy/kubernetes fits its published schema; broken ones do not."""

from __future__ import annotations

import copy

import kubernetes_manifests as manifests
import kubernetes_schemas as schemas
import pytest

# A mistake in an object of each kind: where, and what is there by mistake. GONE removes
# what is there.
GONE = object()
_FIRST_JOB = ("spec", "replicatedJobs", 0)
MISTAKES = {
    "ConfigMap": (("data", "PERSIA_PS"), 7000),
    "Deployment": (
        ("spec", "template", "spec", "containers", 0, "resources", "limit"),
        {"memory": "2Gi"},
    ),
    "HorizontalPodAutoscaler": (("spec", "maxReplicas"), GONE),
    "JobSet": ((*_FIRST_JOB, "template", "spec", "parallelism"), "two"),
    "Namespace": (("metadata", "labels"), ["restricted"]),
    "NetworkPolicy": (("spec", "ingress", 0, "from", 0, "podSelectors"), {}),
    "PersistentVolumeClaim": (("spec", "accessModes"), "ReadWriteMany"),
    "PodDisruptionBudget": (("spec", "selector", "matchLabel"), {"a": "b"}),
    "Role": (("rules", 0, "verbs"), "get"),
    "RoleBinding": (("roleRef", "name"), GONE),
    "PodMonitor": (("spec", "podMetricsEndpoints", 0, "interval"), "15 seconds"),
    "Service": (("spec", "ports", 0, "port"), "data"),
    "ServiceAccount": (("automountServiceAccountToken",), "no"),
    "StatefulSet": (
        ("spec", "template", "spec", "containers", 0, "readinessProbe", "grpc"),
        {"service": "persia.PS"},
    ),
    "TFJob": (("spec", "tfReplicaSpecs", "Worker", "replicas"), "2"),
    "TrainJob": (("spec", "runtimeRef", "name"), GONE),
    "TrainingRuntime": (("spec", "template", *_FIRST_JOB, "replica"), 2),
}


@pytest.mark.parametrize("cluster", manifests.CLUSTERS)
def test_every_object_fits_its_schema(cluster):
    objects = manifests.rendered(cluster)
    assert objects
    for item in objects:
        schemas.validate(item)


@pytest.mark.parametrize("folder", manifests.RESOURCES)
def test_each_folder_can_be_applied_by_itself(folder):
    objects = manifests.of_folder(folder)
    together = manifests.rendered("plain")
    assert objects
    assert all(item in together for item in objects)


def test_every_kind_has_a_mistake():
    assert {item["kind"] for item in all_objects()} == set(MISTAKES)


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_refused(kind):
    item = example_of(kind)
    schemas.validate(item)
    path, value = MISTAKES[kind]
    broken = copy.deepcopy(item)
    *parents, last = path
    place = broken
    for key in parents:
        place = place[key]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    with pytest.raises(schemas.Refused):
        schemas.validate(broken)


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_field_that_does_not_exist_is_refused(kind):
    broken = copy.deepcopy(example_of(kind))
    broken.get("spec", broken)["unknown"] = 1
    with pytest.raises(schemas.Refused, match="unknown"):
        schemas.validate(broken)


@pytest.mark.parametrize("kind", ["JobSet", "PodMonitor", "TFJob", "TrainJob"])
def test_another_version_of_a_kind_is_refused(kind):
    with pytest.raises(schemas.Refused):
        schemas.validate({**example_of(kind), "apiVersion": "example.com/v9"})


def example_of(kind):
    return next(item for item in all_objects() if item["kind"] == kind)


def all_objects():
    return [
        item for cluster in manifests.CLUSTERS for item in manifests.rendered(cluster)
    ]
