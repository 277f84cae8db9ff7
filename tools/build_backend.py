"""The build backend that pyproject.toml names: scikit-build-core, with two changes.

- A build needs TensorFlow's C headers. It asks pip for TensorFlow only if TensorFlow is
  neither in the environment that it builds in nor in the one that it builds for.
- An editable install adds a path to Python's search path, by a .pth file. It has no
  import hook, as scikit-build-core's would, which slows every start of Python. It
  builds the libraries in place, like `make build`; with
  `--config-settings wheel.cmake=false` it builds none.
"""

from __future__ import annotations

import os
from pathlib import Path

import native_build
from package_folder import package_folder
from scikit_build_core import build
from scikit_build_core.build import (  # noqa: F401  Unchanged hooks.
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_wheel,
)

_TENSORFLOW = "tensorflow>=2.16"

# As in tools/native_build.py. Otherwise the compiler that Python was built with is
# used.
os.environ.setdefault("CXX", "g++")


def get_requires_for_build_wheel(config_settings=None):
    requirements = list(build.get_requires_for_build_wheel(config_settings))
    if _builds_native(config_settings) and package_folder("tensorflow") is None:
        requirements.append(_TENSORFLOW)
    return requirements


get_requires_for_build_editable = get_requires_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with native_build.lock(Path("build/wheel-native")):
        return build.build_wheel(wheel_directory, config_settings, metadata_directory)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    return prepare_metadata_for_build_wheel(
        metadata_directory, _editable(config_settings)
    )


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    if _builds_native(config_settings):
        native_build.build()
    path = Path("build/editable/persia_tf.pth")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{Path.cwd()}\n")
    settings = _editable(config_settings)
    settings[f"wheel.force-include.{path}"] = path.name
    return build_wheel(wheel_directory, settings, metadata_directory)


def _builds_native(config_settings):
    return (config_settings or {}).get("wheel.cmake", "true").lower() not in (
        "false",
        "0",
    )


def _editable(config_settings):
    """The settings of a wheel that has neither libraries nor the package."""
    own = {"wheel.cmake": "false", "wheel.exclude": "persia_tf"}
    return {**(config_settings or {}), **own}
