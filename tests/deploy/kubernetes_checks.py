"""Checks of shards that hold for deploy/kubernetes and for overlays of it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kubernetes_manifests as manifests

from persia_tf.commands import main


def shard_of(objects: Sequence[dict[str, Any]]) -> manifests.Pod:
    """Returns the pod of the shards."""
    [pod] = [pod for pod in manifests.pods_of(objects) if pod.component == "shard"]
    return pod


def parsed(pod: manifests.Pod, folder: Path) -> argparse.Namespace:
    """Returns the arguments of a pod of `persia`.

    Args:
        pod: A shard or an embedding worker.
        folder: Replaces `/` in paths, since the options create their folders.
    """
    values, unknown = main.parser().parse_known_args(arguments_below(pod, folder))
    assert not unknown
    return values


def arguments_below(pod: manifests.Pod, folder: Path) -> list[str]:
    """Returns the arguments of a pod, with `folder` in place of `/` in paths."""
    return [each.replace("=/", f"={folder}/", 1) for each in pod.container["args"]]


def check_list(objects: Sequence[dict[str, Any]]) -> None:
    """Checks that PERSIA_PS names the pods of the StatefulSet, in order.

    If it is scaled automatically, these are the pods that there always are.
    """
    pod = shard_of(objects)
    name, service = pod.owner["metadata"]["name"], pod.owner["spec"]["serviceName"]
    assert service in manifests.of_kind(objects, "Service")
    assert pod.environment(objects)["PERSIA_PS"].split(",") == [
        f"{name}-{index}.{service}:{pod.ports['data']}"
        for index in range(_least_replicas(objects, pod.owner))
    ]


def _least_replicas(objects: Sequence[dict[str, Any]], owner: dict[str, Any]) -> int:
    if "replicas" in owner["spec"]:
        return owner["spec"]["replicas"]
    scalers = manifests.of_kind(objects, "HorizontalPodAutoscaler")
    return scalers[owner["metadata"]["name"]]["spec"]["minReplicas"]


def check_room(pod: manifests.Pod, folder: Path) -> None:
    """Checks that the memory and the volume of a shard suffice for its rows."""
    texts = re.findall(r"--memory-limit=(\d+)%", " ".join(pod.container["args"]))
    rows = int(texts[-1]) / 100
    memory = manifests.bytes_of(pod.container["resources"]["limits"]["memory"])
    [claim] = pod.owner["spec"]["volumeClaimTemplates"]
    storage = manifests.bytes_of(claim["spec"]["resources"]["requests"]["storage"])
    assert storage >= 3 * rows * memory + parsed(pod, folder).log_size
    # Requests of all connections take up to 1 GiB, and the process some memory.
    assert (1 - rows) * memory >= 1.25 * 2**30
