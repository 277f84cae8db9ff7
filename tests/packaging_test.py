"""How the package is installed."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import build_backend
import package_folder
import pytest

ROOT = Path(__file__).parents[1]

BUILD_EDITABLE = """
import sys
sys.path.insert(0, sys.argv[1])
import build_backend
build_backend.build_editable("wheels", {"wheel.cmake": "false"})
"""

# As in pip's isolation, only what was installed for the build can be imported.
ISOLATE = """
import sys
sys.path = [path for path in sys.path if "-packages" not in path]
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
    build = [sys.executable, "-c", BUILD_EDITABLE, ROOT / "tools"]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True, timeout=60)
    [wheel] = (checkout / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as installed:
        [line] = [name for name in installed.namelist() if "dist-info" not in name]
        # A path takes precedence over a folder without an __init__.py; an import hook
        # does not.
        assert installed.read(line).decode().strip() == str(checkout)


@pytest.mark.parametrize(
    ("installed", "wanted"),
    [("/somewhere/tensorflow", []), (None, ["tensorflow>=2.16"])],
)
def test_a_build_asks_for_tensorflow_only_if_there_is_none(
    installed, wanted, monkeypatch
):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(build_backend, "package_folder", lambda _: installed)
    for hook in (
        build_backend.get_requires_for_build_wheel,
        build_backend.get_requires_for_build_editable,
    ):
        assert [name for name in hook() if name.startswith("tensorflow")] == wanted


def test_an_isolated_build_finds_the_packages_that_are_installed(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(ISOLATE)
    isolated = {**os.environ, "PYTHONPATH": str(tmp_path)}
    direct = subprocess.run([sys.executable, "-c", "import numpy"], env=isolated)
    assert direct.returncode != 0
    found = subprocess.run(
        [sys.executable, package_folder.__file__, "numpy"],
        env=isolated,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert found.stdout.strip() == package_folder.package_folder("numpy")


def test_a_package_that_is_not_installed_is_named():
    ended = subprocess.run(
        [sys.executable, package_folder.__file__, "no_such_headers"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert ended.returncode != 0
    assert "pip install no-such-headers" in ended.stderr
