"""The layers of the native code and of the package: no arrow points back."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Not resolved: a sandboxed run sees its sources through links.
ROOT = Path(os.path.abspath(__file__)).parents[1]

# Each may include itself and what stands in an earlier row, no neighbour.
LAYERS = [
    {"base"},
    {"optimizer", "files", "json", "tls"},
    {"store"},
    {"checkpoint", "log"},
    {"journal"},
    {"service"},
    {"wire"},
    {"server", "client"},
    {"pipeline"},
    {"serving"},
    {"capi", "ops"},
]
RANKS = {module: rank for rank, row in enumerate(LAYERS) for module in sorted(row)}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

# What must start fast, and run without TensorFlow.
LIGHT_MODULES = ["persia_tf", "persia_tf._native", "persia_tf.local_shards"] + [
    f"persia_tf.commands.{path.stem}"
    for path in sorted((ROOT / "persia_tf" / "commands").glob("[!_]*.py"))
]

REPORT_FRAMEWORKS = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(*sorted({"keras", "tensorflow", "tf_keras"} & set(sys.modules)))
"""


def includes_of(root, module):
    """Every (file, included path) of a module of cc/."""
    for path in sorted((root / "cc" / module).rglob("*")):
        if path.suffix in (".h", ".cc"):
            for included in INCLUDE.findall(path.read_text()):
                yield path.name, included


def wrong_layer(module, included):
    parts = included.split("/")
    if parts[0] != "cc" or parts[1] == module:
        return False
    return RANKS.get(parts[1], len(LAYERS)) >= RANKS[module]


def wrong_tensorflow(module, included):
    if not included.startswith(("tensorflow/", "tsl/", "xla/")):
        return False
    return module != "ops" or not included.startswith("tensorflow/c/")


def wrong_openssl(module, included):
    return module != "tls" and included.startswith("openssl/")


def offences(root, module, is_wrong):
    return [pair for pair in includes_of(root, module) if is_wrong(module, pair[1])]


def test_every_module_has_a_layer():
    modules = {path.name for path in (ROOT / "cc").iterdir() if any(path.glob("*.h"))}
    assert modules == set(RANKS)


@pytest.mark.parametrize("module", RANKS)
def test_a_module_includes_only_earlier_layers(module):
    assert offences(ROOT, module, wrong_layer) == []


@pytest.mark.parametrize("module", RANKS)
def test_only_ops_includes_tensorflow_and_only_its_c_interface(module):
    assert offences(ROOT, module, wrong_tensorflow) == []


@pytest.mark.parametrize("module", RANKS)
def test_only_tls_includes_openssl(module):
    assert offences(ROOT, module, wrong_openssl) == []


@pytest.mark.parametrize(
    ("module", "included", "is_wrong"),
    [
        ("base", "cc/store/table.h", wrong_layer),
        ("server", "cc/client/remote_service.h", wrong_layer),
        ("capi", "cc/ops/ops.h", wrong_layer),
        ("base", "cc/unheard_of/thing.h", wrong_layer),
        ("capi", "tensorflow/c/ops.h", wrong_tensorflow),
        ("ops", "tensorflow/core/framework/op.h", wrong_tensorflow),
        ("wire", "openssl/ssl.h", wrong_openssl),
    ],
)
def test_a_wrong_include_is_found(tmp_path, module, included, is_wrong):
    folder = tmp_path / "cc" / module
    folder.mkdir(parents=True)
    (folder / "x.h").write_text(f'#include <vector>\n#include "{included}"\n')
    assert offences(tmp_path, module, is_wrong) == [("x.h", included)]


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_importing_it_does_not_import_tensorflow(module):
    result = subprocess.run(
        [sys.executable, "-c", REPORT_FRAMEWORKS, module],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert result.stdout.split() == []
