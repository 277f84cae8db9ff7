"""Packages persia_tf: runs the native build. The metadata is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

_ROOT = Path(__file__).resolve().parent
# A build backend does not have this folder in sys.path.
sys.path.insert(0, str(_ROOT / "cc"))

import ninja_build  # noqa: E402


class BuildNative(build_ext):
    """Builds the shared objects into the wheel, or in place if it is editable."""

    def run(self):
        root = _ROOT if self.inplace else Path(self.build_lib)
        ninja_build.build_libraries(root / "persia_tf")

    def get_output_mapping(self):
        return {}

    def get_outputs(self):
        package = Path(self.build_lib) / "persia_tf"
        return [str(package / library) for library in ninja_build.LIBRARIES]

    def get_source_files(self):
        return []  # MANIFEST.in lists the sources.


class PlatformWheel(bdist_wheel):
    """Tags the wheel for any Python 3: the native code does not use CPython."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(
    # A placeholder, so that setuptools runs BuildNative, which defines the build.
    ext_modules=[Extension("persia_tf.native", sources=[])],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": PlatformWheel},
)
