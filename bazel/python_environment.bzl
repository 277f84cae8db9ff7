"""What the build takes from a Python environment: its interpreter, Boost's
headers, TensorFlow's C headers and framework library.

The environment is $PERSIA_PYTHON, else .venv in the workspace (`make env`
makes it), else the python3 on PATH.
"""

_FIND_PACKAGES = """
import importlib.util, os, sys
for module in sys.argv[1:]:
    spec = importlib.util.find_spec(module)
    if spec is None:
        sys.exit("it has no package " + module)
    print(os.path.dirname(spec.origin))
"""

_BUILD = """
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

py_runtime(
    name = "python3",
    interpreter_path = "{python}",
    python_version = "PY3",
)

py_runtime_pair(
    name = "runtimes",
    py3_runtime = ":python3",
)

toolchain(
    name = "toolchain",
    toolchain = ":runtimes",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)

# The headers are whole folders: to list their files takes longer than to compile.
cc_library(
    name = "boost",
    hdrs = ["boost_include"],
    includes = ["boost_include"],
)

cc_library(
    name = "tensorflow_headers",
    hdrs = ["tensorflow_include"],
    includes = ["tensorflow_include"],
)

# No run path: what loads the ops has loaded TensorFlow already.
cc_library(
    name = "tensorflow_framework",
    linkopts = [
        "-L{tensorflow}",
        "-l:libtensorflow_framework.so.2",
    ],
)
"""

def _find_python(repository_ctx):
    named = repository_ctx.os.environ.get("PERSIA_PYTHON")
    if named:
        return named
    root = repository_ctx.path(Label("//:WORKSPACE")).dirname
    venv = root.get_child(".venv").get_child("bin").get_child("python")
    if venv.exists:
        return str(venv)
    return str(repository_ctx.which("python3"))

def _python_environment_impl(repository_ctx):
    python = _find_python(repository_ctx)
    found = repository_ctx.execute(
        [python, "-c", _FIND_PACKAGES, "boost_headers", "tensorflow"],
    )
    if found.return_code:
        fail(("%s cannot serve the build: %s. Run `make env`, or name another " +
              "Python in $PERSIA_PYTHON.") % (python, found.stderr))
    boost, tensorflow = found.stdout.splitlines()
    repository_ctx.symlink(boost + "/include", "boost_include")
    repository_ctx.symlink(tensorflow + "/include", "tensorflow_include")
    repository_ctx.file(
        "BUILD",
        _BUILD.format(python = python, tensorflow = tensorflow),
    )

python_environment = repository_rule(
    doc = "The Python environment that the build and the tests use.",
    implementation = _python_environment_impl,
    environ = [
        "PATH",
        "PERSIA_PYTHON",
    ],
    local = True,
)
