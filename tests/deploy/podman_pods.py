"""Pods of deploy/kubernetes, run by podman: the same images, arguments and settings.

podman runs Pods, but neither StatefulSets nor JobSets, and mounts a Secret without its
mode. So this module does here what the control plane and the kubelet do in a cluster:
it numbers the pods of a StatefulSet, gives each the names of the others, and makes the
folders of volumes as the kubelet makes them for a pod with `fsGroup`.
"""

from __future__ import annotations

import copy
import functools
import ipaddress
import itertools
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import kubernetes_manifests as manifests
import pytest
import yaml
from harness import wait_until

from persia_tf import _version

PODMAN = os.environ.get("PODMAN", "podman")

# Set where the images are those of this checkout.
_ASKED = "PERSIA_TEST_CONTAINERS"

# What a scheduler, a kubelet's probes or the API server would use.
_NOT_FOR_PODMAN = (
    "affinity",
    "automountServiceAccountToken",
    "enableServiceLinks",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "topologySpreadConstraints",
)
# Of a container. podman would bind its ports on this machine too.
_NOT_OF_CONTAINER = (
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "startupProbe",
)

_clusters = itertools.count()

# The numbers of pods of `Pods.run` start here.
_RUN = 100

# The first addresses of a network belong to podman.
_FIRST_ADDRESS = 10


def require_image(name: str) -> None:
    """Skips the test unless it is asked for, and can run.

    Not asked for, it might run an image of another state of the sources.
    """
    if not os.environ.get(_ASKED):
        pytest.skip("make test-containers, which builds the images, runs it")
    if shutil.which(PODMAN) is None:
        pytest.skip(f"{PODMAN}, which runs containers, is not installed")
    if os.geteuid() != 0:
        pytest.skip("pods with addresses and memory limits of their own need root")
    done = subprocess.run([PODMAN, "image", "exists", image(name)], timeout=60)
    if done.returncode:
        pytest.skip(f"there is no image {image(name)}: make images")


def image(name: str) -> str:
    """Returns what podman calls an image of this checkout."""
    return f"localhost/{name}:{_version.__version__}"


def podman(*arguments: str, timeout: float = 120, check: bool = True) -> str:
    """Runs podman; returns its output and its messages."""
    done = subprocess.run(
        [PODMAN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    assert not check or done.returncode == 0, f"podman {arguments}: {done.stdout}"
    return done.stdout


class _Secret(NamedTuple):
    content: Mapping[str, str]
    group: int | None = None


class RunningPod:
    """A pod with one container, which `Pods.start` has started."""

    def __init__(self, container: str) -> None:
        self._container = container

    @property
    def log(self) -> str:
        """What the container has written, in all its starts."""
        return podman("logs", self._container)

    @property
    def state(self) -> dict[str, Any]:
        """The container's state, as podman reports it."""
        [about] = json.loads(podman("inspect", self._container))
        return {**about["State"], "RestartCount": about["RestartCount"]}

    def kill(self) -> None:
        """Ends the container's program as the kernel does when memory is exhausted.

        The pod's restart policy then starts the container again.
        """
        os.kill(self.state["Pid"], signal.SIGKILL)

    def wait_for(self, text: str, times: int = 1) -> None:
        """Waits until the container has written a text, in all its starts together."""
        try:
            wait_until(lambda: self.log.count(text) >= times, f"{text!r} in the log")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.state}\n{self.log[-5000:]}") from None

    def wait(self, seconds: float) -> None:
        """Waits until the container has ended; its pod must not start it again."""
        podman("wait", self._container, timeout=seconds)


class Pods:
    """Pods on a network of their own; a `with` block ends them.

    Args:
        folder: For the pods' volumes and secrets.
        cluster: The cluster of `manifests.CLUSTERS` whose objects run.
    """

    def __init__(self, folder: Path, cluster: str = "plain") -> None:
        self._folder = folder
        self._objects = manifests.rendered(cluster)
        self._name = f"persia-{os.getpid()}-{next(_clusters)}"
        self._started: list[Path] = []
        self._secrets: dict[str, _Secret] = {}
        self._runs = 0

    def __enter__(self) -> Pods:
        podman("network", "create", self._name)
        return self

    def __exit__(self, *_: object) -> None:
        for path in reversed(self._started):
            podman("play", "kube", "--down", str(path), check=False)
        podman("network", "rm", "--force", self._name)

    def add_secret(
        self, name: str, content: Mapping[str, str], group: int | None = None
    ) -> None:
        """Defines a Secret for pods that are started later.

        Args:
            name: The Secret's name.
            content: The text of each of its files, by the file's name.
            group: The files' group. None means the pod's `fsGroup`.
        """
        self._secrets[name] = _Secret(content, group)

    def start(
        self,
        owner: str,
        number: int = 0,
        change: Callable[[dict[str, Any]], object] = lambda spec: None,
    ) -> RunningPod:
        """Starts one pod of an object.

        Args:
            owner: The name of a StatefulSet or a JobSet, in the manifests.
            number: The pod's number.
            change: A function that changes the pod's `spec` before it is started.
        """
        [template] = [
            each
            for each in manifests.pods_of(self._objects)
            if each.owner["metadata"]["name"] == owner
        ]
        name = f"{owner}-{number}"
        spec = copy.deepcopy(template.spec)
        change(spec)
        claims = template.owner["spec"].get("volumeClaimTemplates", ())
        self._adapt(spec, name, {each["metadata"]["name"] for each in claims})
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self._unique(name), "labels": template.labels},
            "spec": spec,
        }
        path = self._folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(pod))
        self._started.append(path)
        options = ["--network", self._name]
        if name in self._addresses:
            options += ["--ip", self._addresses[name]]
        podman("play", "kube", *options, str(path))
        return RunningPod(f"{self._unique(name)}-{spec['containers'][0]['name']}")

    def run(self, owner: str, *arguments: str, seconds: float = 120) -> RunningPod:
        """Starts a pod of an object with other arguments, and waits until it has ended.

        Args:
            owner: As for `start`.
            *arguments: The container's arguments instead of those in the manifests.
            seconds: How long the pod may run.
        """

        def change(spec):
            spec["restartPolicy"] = "Never"
            spec["containers"][0]["args"] = list(arguments)

        self._runs += 1
        pod = self.start(owner, _RUN + self._runs, change)
        pod.wait(seconds)
        return pod

    @functools.cached_property
    def _addresses(self) -> dict[str, str]:
        """The addresses of the pods of StatefulSets, by the pods' names."""
        [network] = json.loads(podman("network", "inspect", self._name))
        hosts = list(ipaddress.ip_network(network["subnets"][0]["subnet"]).hosts())
        names = [
            f"{name}-{number}"
            for name, item in manifests.of_kind(self._objects, "StatefulSet").items()
            for number in range(item["spec"]["replicas"])
        ]
        return dict(zip(names, map(str, hosts[_FIRST_ADDRESS:])))

    def _environment(self, container: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns a container's variables: podman prefers those of `envFrom`."""
        maps = manifests.of_kind(self._objects, "ConfigMap")
        names = [each["configMapRef"]["name"] for each in container.pop("envFrom", ())]
        shared = [
            {"name": name, "value": value}
            for each in names
            for name, value in maps[each]["data"].items()
        ]
        return [*shared, *container.get("env", ())]

    def _unique(self, name: str) -> str:
        return f"{self._name}-{name}"

    def _adapt(self, spec: dict[str, Any], name: str, claims: set[str]) -> None:
        """Makes of a pod's `spec` one for podman."""
        for key in _NOT_FOR_PODMAN:
            spec.pop(key, None)
        # A StatefulSet's governing Service names its pods.
        spec["hostname"] = name
        spec["hostAliases"] = [
            {"ip": address, "hostnames": [f"{each}.{each.rpartition('-')[0]}"]}
            for each, address in self._addresses.items()
        ]
        for container in spec["containers"]:
            for key in _NOT_OF_CONTAINER:
                container.pop(key, None)
            container["image"] = f"localhost/{container['image']}"
            container["env"] = self._environment(container)
        group = spec["securityContext"]["fsGroup"]
        volumes = [
            self._volume(each, name, group)
            for each in [*spec.get("volumes", ()), *({"name": c} for c in claims)]
        ]
        spec["volumes"] = volumes

    def _volume(self, volume: dict[str, Any], pod: str, group: int) -> dict[str, Any]:
        """Returns a volume of the host, in which is what the kubelet would mount."""
        if "hostPath" in volume:
            return volume
        path = self._folder / pod / volume["name"]
        path.mkdir(parents=True, exist_ok=True)
        secret = volume.get("secret")
        if secret is None:
            os.chown(path, 0, group)
            path.chmod(0o2770)
        else:
            given = self._secrets.get(secret["secretName"], _Secret({}))
            assert given.content or secret.get("optional"), secret
            owners = group if given.group is None else given.group
            _write_secret(path, given.content, secret["defaultMode"], owners)
        return {"name": volume["name"], "hostPath": {"path": str(path)}}


def mount(spec: dict[str, Any], folder: Path, path: str) -> None:
    """Mounts a folder of this machine in a pod's container, read-only."""
    name = f"mount-{len(spec['volumes'])}"
    spec["volumes"].append({"name": name, "hostPath": {"path": str(folder)}})
    spec["containers"][0]["volumeMounts"].append(
        {"name": name, "mountPath": path, "readOnly": True}
    )


def _write_secret(
    path: Path, content: Mapping[str, str], mode: int, group: int
) -> None:
    """Writes files as the kubelet does: of root, and of the pod's group."""
    for name, text in content.items():
        file = path / name
        file.unlink(missing_ok=True)
        file.write_text(text)
        os.chown(file, 0, group)
        file.chmod(mode)
    path.chmod(0o755)
