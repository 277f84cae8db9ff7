"""How the package is installed."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

BUILD_EDITABLE = """
from setuptools import build_meta
build_meta.build_editable("wheels")
"""


def test_an_editable_install_is_found_from_a_folder_that_holds_the_checkout(tmp_path):
    checkout = tmp_path / "persia_tf"
    package = checkout / "persia_tf"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "_version.py").write_text("__version__ = '1'\n")
    (checkout / "wheels").mkdir()
    for name in ("README.md", "LICENSE"):
        (checkout / name).write_text("")
    shutil.copyfile(ROOT / "pyproject.toml", checkout / "pyproject.toml")
    build = [sys.executable, "-c", BUILD_EDITABLE]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True, timeout=60)
    [wheel] = (checkout / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as installed:
        [line] = [name for name in installed.namelist() if "dist-info" not in name]
        # A path comes before a folder without an __init__.py, an import hook after.
        assert installed.read(line).decode().strip() == str(checkout)
