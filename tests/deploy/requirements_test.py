"""The versions that the container images pin."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).parents[2] / "deploy" / "docker"

# What each image has of the package's requirements: by name, or all without extras.
NEEDED = {
    "server": {"absl-py", "grpcio", "numpy", "prometheus-client", "rich"},
    "trainer": {"tensorflow"},
}
NEEDED["trainer"] |= NEEDED["server"]

# The extras whose requirements the images have: of metrics, and of `persia top`.
EXTRAS = ("", "metrics", "top")


def pinned(image):
    """The version of each package that an image has, by the package's name."""
    found = {}
    for line in (FOLDER / f"requirements-{image}.txt").read_text().splitlines():
        other = re.fullmatch(r"-r requirements-(\w+)\.txt", line)
        if other:
            found.update(pinned(other[1]))
        elif line and not line.startswith("#"):
            name, version = re.fullmatch(r"([\w.-]+)==([\w.]+)", line).groups()
            found[canonicalize_name(name)] = version
    return found


@pytest.mark.parametrize("image", NEEDED)
def test_the_versions_are_what_the_package_requires(image):
    versions = pinned(image)
    required = map(Requirement, importlib.metadata.requires("persia_tf"))
    checked = set()
    for requirement in required:
        name = canonicalize_name(requirement.name)
        marker = requirement.marker
        is_for_images = marker is None or any(
            marker.evaluate({"extra": extra}) for extra in EXTRAS
        )
        if is_for_images and name in NEEDED[image]:
            assert requirement.specifier.contains(versions[name]), requirement
            checked.add(name)
    assert checked == NEEDED[image]
