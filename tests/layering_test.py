"""The layers of the native code and of the package have no circular dependencies."""

import ast
import graphlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Not resolved: a sandboxed run sees its sources through links.
ROOT = Path(os.path.abspath(__file__)).parents[1]

# Which module may include which, as both builds, CMake's and Bazel's, read it.
DECLARED = json.loads((ROOT / "cc" / "modules.json").read_text())

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

# The first line of the definition of a type of a namespace, and no specialization.
TYPE = re.compile(
    r"^(?:class|enum class|struct|union) (?:PERSIA_EXPORT )?(\w+)(?![\w<]|::|.*;$)"
)

# A longer C++ file has more than one subject.
MOST_LINES = 500

# Modules that must start fast, and run without TensorFlow.
LIGHT_MODULES = ["persia_tf", "persia_tf.native.capi", "persia_tf.local_shards"] + [
    f"persia_tf.commands.{path.stem}"
    for path in sorted((ROOT / "persia_tf" / "commands").glob("[!_]*.py"))
]

# The top level of persia_tf: its rooms, and the names that users import.
TOP_LEVEL = """
__init__ __main__ _keras _registration _version admission base callbacks checkpoint
client cluster commands compression conversion credentials current_cluster data
distribute errors eviction files following kubernetes layers local_shards model_server
monitoring native ops optimizers parallel planning processes ray resharding saving
serving simulation stats table table_settings telemetry
""".split()

REPORT_FRAMEWORKS = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(*sorted({"keras", "tensorflow", "tf_keras"} & set(sys.modules)))
"""


def cpp_files(folder):
    """The C++ files in a folder and below it, in the order of their paths."""
    return [path for path in sorted(folder.rglob("*")) if path.suffix in (".h", ".cc")]


def includes_of(root, module):
    """All pairs of a file in a module of cc/ and a path that it includes."""
    for path in cpp_files(root / "cc" / module):
        for included in INCLUDE.findall(path.read_text()):
            yield path.name, included


def long_cpp_files(root):
    """The C++ files with more than MOST_LINES lines, each with its number of lines."""
    lengths = {
        str(path.relative_to(root)): len(path.read_text().splitlines())
        for folder in ("cc", "tests", "benchmarks", "examples")
        for path in cpp_files(root / folder)
    }
    return {path: lines for path, lines in lengths.items() if lines > MOST_LINES}


def types_of(path):
    """The names of a C++ file's types that others may see."""
    is_hidden = False
    for line in path.read_text().splitlines():
        if line == "namespace {":
            is_hidden = True
        elif line == "}  // namespace":
            is_hidden = False
        elif not is_hidden and (found := TYPE.match(line)):
            yield found[1]


def types_of_one_name(root):
    """The files that define the types whose names are not theirs alone."""
    files = {}
    for path in cpp_files(root / "cc"):
        for name in types_of(path):
            files.setdefault(name, []).append(str(path.relative_to(root)))
    return {name: paths for name, paths in files.items() if len(paths) > 1}


def undeclared_module(module, included):
    parts = included.split("/")
    return parts[0] == "cc" and parts[1] not in (module, *DECLARED[module])


def imports_of(package):
    """The modules that each module of a package imports, also within functions."""
    paths = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        paths[name] = path
    graph = {}
    for name, path in paths.items():
        found = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
                found.add(node.module)
        graph[name] = {other for other in found if other in paths} - {name}
    # Python imports a package with each of its modules: that is not a use of it.
    for name, found in graph.items():
        graph[name] = {
            other
            for other in found
            if not any(each.startswith(f"{other}.") for each in found)
        }
    return graph


def rooms_of(graph):
    """Returns the same graph between the folders and modules of the top level."""
    rooms = {}
    for name, found in graph.items():
        room = name.split(".")[1:2]
        for other in found:
            if room and other.split(".")[1:2] not in (room, []):
                rooms.setdefault(room[0], set()).add(other.split(".")[1])
    return rooms


def wrong_tensorflow(module, included):
    if not included.startswith(("tensorflow/", "tsl/", "xla/")):
        return False
    return module != "ops" or not included.startswith("tensorflow/c/")


def wrong_openssl(module, included):
    # The second one is the header in cc/tls that shows OpenSSL's types.
    is_openssl = included.startswith("openssl/") or included == "cc/tls/openssl.h"
    return module != "tls" and is_openssl


def openssl_in_public_header(name, included):
    return name.endswith(".h") and name != "openssl.h" and wrong_openssl("", included)


def offences(root, module, is_wrong):
    return [pair for pair in includes_of(root, module) if is_wrong(module, pair[1])]


def test_every_module_is_declared():
    modules = {path.name for path in (ROOT / "cc").iterdir() if any(path.glob("*.h"))}
    assert modules == set(DECLARED)


def test_no_module_includes_one_that_includes_it():
    graphlib.TopologicalSorter(DECLARED).prepare()  # A CycleError names the circle.


@pytest.mark.parametrize("module", DECLARED)
def test_a_module_declares_what_it_includes_and_no_more(module):
    included = {
        path.split("/")[1]
        for _, path in includes_of(ROOT, module)
        if path.startswith("cc/")
    }
    assert included - {module} == set(DECLARED[module])


@pytest.mark.parametrize("module", DECLARED)
def test_only_ops_includes_tensorflow_and_only_its_c_interface(module):
    assert offences(ROOT, module, wrong_tensorflow) == []


@pytest.mark.parametrize("module", DECLARED)
def test_only_tls_includes_openssl(module):
    assert offences(ROOT, module, wrong_openssl) == []


def test_headers_of_tls_that_others_include_show_no_openssl():
    included = includes_of(ROOT, "tls")
    assert [pair for pair in included if openssl_in_public_header(*pair)] == []


@pytest.mark.parametrize(
    ("module", "included", "is_wrong"),
    [
        ("base", "cc/store/table.h", undeclared_module),
        ("server", "cc/client/remote_service.h", undeclared_module),
        ("capi", "cc/ops/ops.h", undeclared_module),
        ("base", "cc/unheard_of/thing.h", undeclared_module),
        ("capi", "tensorflow/c/ops.h", wrong_tensorflow),
        ("ops", "tensorflow/core/framework/op.h", wrong_tensorflow),
        ("wire", "openssl/ssl.h", wrong_openssl),
        ("wire", "cc/tls/openssl.h", wrong_openssl),
    ],
)
def test_a_wrong_include_is_found(tmp_path, module, included, is_wrong):
    folder = tmp_path / "cc" / module
    folder.mkdir(parents=True)
    (folder / "x.h").write_text(f'#include <vector>\n#include "{included}"\n')
    assert offences(tmp_path, module, is_wrong) == [("x.h", included)]


def test_no_cpp_file_is_longer_than_500_lines():
    assert long_cpp_files(ROOT) == {}


def test_a_long_cpp_file_is_found(tmp_path):
    (tmp_path / "tests" / "cc").mkdir(parents=True)
    (tmp_path / "tests" / "cc" / "long.h").write_text("\n" * 501)
    (tmp_path / "tests" / "cc" / "short.cc").write_text("\n" * 500)
    assert long_cpp_files(tmp_path) == {"tests/cc/long.h": 501}


def test_no_two_types_have_the_same_name():
    # All of them are in one namespace: a linker keeps one of two inline functions
    # of the same name and uses it for both types, and says nothing.
    assert types_of_one_name(ROOT) == {}


def test_two_types_of_the_same_name_are_found(tmp_path):
    for module, text in [
        ("a", "struct X {\nclass Y : public Z {\nclass Own final {\nenum class E"),
        ("b", "class X final {\nclass Y;\nnamespace {\nstruct Y {\n}  // namespace"),
        ("c", "struct Yy::Inner {\nclass PERSIA_EXPORT Y\nenum class E {"),
    ]:
        (tmp_path / "cc" / module).mkdir(parents=True)
        (tmp_path / "cc" / module / "x.h").write_text(text)
    assert types_of_one_name(tmp_path) == {
        "E": ["cc/a/x.h", "cc/c/x.h"],
        "X": ["cc/a/x.h", "cc/b/x.h"],
        "Y": ["cc/a/x.h", "cc/c/x.h"],
    }


def test_the_top_level_of_the_package_has_what_users_import_and_rooms():
    found = {path.stem for path in (ROOT / "persia_tf").glob("*.py")}
    found |= {path.parent.name for path in (ROOT / "persia_tf").glob("*/__init__.py")}
    assert found == set(TOP_LEVEL)


def test_no_python_module_imports_one_that_imports_it():
    graph = imports_of(ROOT / "persia_tf")
    assert graph["persia_tf.native.servers"] == {
        "persia_tf.errors",
        "persia_tf.native.capi",
    }
    graphlib.TopologicalSorter(graph).prepare()
    graphlib.TopologicalSorter(rooms_of(graph)).prepare()


def test_a_circle_of_rooms_is_found(tmp_path):
    package = tmp_path / "p"
    for room in ("a", "b"):
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").write_text("")
    (package / "a" / "x.py").write_text("from p.b import y")
    (package / "b" / "y.py").write_text("")
    (package / "b" / "z.py").write_text("def f():\n    import p.a.x")
    graph = imports_of(package)
    graphlib.TopologicalSorter(graph).prepare()
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(rooms_of(graph)).prepare()


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_importing_it_does_not_import_tensorflow(module):
    result = subprocess.run(
        [sys.executable, "-c", REPORT_FRAMEWORKS, module],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert result.stdout.split() == []
