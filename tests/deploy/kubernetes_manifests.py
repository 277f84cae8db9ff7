"""The objects of deploy/kubernetes, as kustomize renders them."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

_BASE = "deploy/kubernetes/base/kustomization.yaml"
# Resolved, since Bazel's links would lead kustomize out of the folder.
FOLDER = (Path(__file__).parents[2] / _BASE).resolve().parents[1]

# Folders whose objects need no other folder's patches.
RESOURCES = (
    "base",
    "standbys",
    "embedding-workers",
    "data-workers",
    "monitoring",
    "trainers/movielens",
    "trainers/jobset",
    "trainers/tfjob",
    "trainers/trainjob",
)

# Ways to put the folders together: the folders of resources, and of components.
CLUSTERS = {
    "plain": (RESOURCES, ()),
    "with a volume": (
        RESOURCES,
        (
            "components/tls",
            "components/checkpoints-volume",
            "trainers/components/checkpoints-volume",
            "trainers/components/embedding-workers",
            "trainers/components/data-workers",
        ),
    ),
    "with a bucket": (RESOURCES, ("components/tls", "components/checkpoints-s3")),
    "scaled": (RESOURCES, ("components/scaling", "components/autoscaling")),
    "gke": (("overlays/gke/cluster", "overlays/gke/movielens"), ()),
}

# Components came with kubectl 1.21.
_OLDEST_MINOR = 21

_TEMPLATES = {
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "JobSet": ("spec", "replicatedJobs", "*", "template", "spec", "template"),
    "TFJob": ("spec", "tfReplicaSpecs", "*", "template"),
    "TrainingRuntime": (
        *("spec", "template", "spec", "replicatedJobs", "*"),
        *("template", "spec", "template"),
    ),
}


class Pod(NamedTuple):
    """The template of an object's pods.

    Attributes:
        owner: The object.
        labels: The pods' labels.
        spec: The pods' `spec`.
    """

    owner: dict[str, Any]
    labels: dict[str, str]
    spec: dict[str, Any]

    @property
    def container(self) -> dict[str, Any]:
        """The pod's only container."""
        [container] = self.spec["containers"]
        return container

    @property
    def component(self) -> str:
        """What the pod runs: "shard", "trainer" and so on."""
        return self.labels["app.kubernetes.io/component"]

    @property
    def ports(self) -> dict[str, int]:
        """The container's ports, by name."""
        listed = self.container.get("ports", ())
        return {each["name"]: each["containerPort"] for each in listed}

    def environment(self, objects: Sequence[dict[str, Any]]) -> dict[str, str]:
        """Returns the container's variables, of which its own precede a ConfigMap's."""
        values = {}
        for source in self.container.get("envFrom", ()):
            if "configMapRef" in source:
                name = source["configMapRef"]["name"]
                values.update(of_kind(objects, "ConfigMap")[name]["data"])
        for variable in self.container.get("env", ()):
            values[variable["name"]] = variable.get("value", "")
        return values


@functools.cache
def rendered(cluster: str) -> list[dict[str, Any]]:
    """Returns the objects of one of `CLUSTERS`."""
    resources, components = CLUSTERS[cluster]
    return together(resources, components=components)


def together(
    resources: Sequence[str], components: Sequence[str] = (), **more: Any
) -> list[dict[str, Any]]:
    """Returns the objects of several folders, put together as an overlay does.

    Args:
        resources: Folders of deploy/kubernetes.
        components: Folders of components.
        **more: Further fields of the overlay's kustomization.yaml, such as `patches`.
    """
    with tempfile.TemporaryDirectory() as folder:
        # Kustomize accepts relative paths only.
        here = os.path.realpath(folder)

        def relative(paths):
            return [os.path.relpath(FOLDER / path, here) for path in paths]

        overlay = {
            "resources": relative(resources),
            "components": relative(components),
            **more,
        }
        Path(here, "kustomization.yaml").write_text(yaml.safe_dump(overlay))
        return of_folder(here)


def of_folder(folder: str | Path) -> list[dict[str, Any]]:
    """Returns the objects of one folder.

    Args:
        folder: A folder of deploy/kubernetes, or the absolute path of another one.
    """
    done = subprocess.run(
        [_kubectl(), "kustomize", FOLDER / folder],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def pods(cluster: str, *components: str) -> list[Pod]:
    """Returns the pods of one of `CLUSTERS`: all, or those of some components."""
    found = pods_of(rendered(cluster))
    return [pod for pod in found if not components or pod.component in components]


def pods_of(objects: Sequence[dict[str, Any]]) -> list[Pod]:
    """Returns the templates of all pods that the objects make."""
    return [
        Pod(each, template["metadata"]["labels"], template["spec"])
        for each in objects
        if each["kind"] in _TEMPLATES
        for template in at(each, _TEMPLATES[each["kind"]])
    ]


def at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yields what a path leads to; "*" in it is every item of a list or a map."""
    if not path:
        yield value
        return
    if path[0] != "*":
        yield from at(value[path[0]], path[1:])
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from at(item, path[1:])


def of_kind(objects: Sequence[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    """Returns the objects of a kind, by name."""
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def bytes_of(quantity: str) -> float:
    """Returns the number of bytes in a quantity such as "4Gi"."""
    number, unit = re.fullmatch(r"(\d+)([KMGT]i)", quantity).groups()
    return int(number) * 1024.0 ** ("KMGT".index(unit[0]) + 1)


@functools.cache
def _kubectl() -> str:
    """Returns kubectl's path; skips the test if there is none, or an old one."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl, which renders the manifests, is not installed")
    version = json.loads(
        subprocess.check_output(
            [kubectl, "version", "--client", "--output=json"], timeout=60
        )
    )["clientVersion"]
    minor = int(re.match(r"\d+", version["minor"])[0])
    if minor < _OLDEST_MINOR:
        pytest.skip(f"kubectl 1.{minor} does not know kustomize's components")
    return kubectl
