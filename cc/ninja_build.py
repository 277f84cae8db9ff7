"""Builds the native code with ninja: in parallel, and only what changed.

    python cc/ninja_build.py                          # the shared objects, in place
    python cc/ninja_build.py test                     # builds and runs the C++ tests
    python cc/ninja_build.py test --sanitize thread   # the same under a sanitizer
    python cc/ninja_build.py test --up-to store       # of the lower modules only
    python cc/ninja_build.py bench                    # benchmarks/store_bench's program
    python cc/ninja_build.py bench --program redis_bench   # another's
    python cc/ninja_build.py fuzz                     # tests/fuzz's programs, by Clang
    python cc/ninja_build.py host --sanitize address  # tests/faults/host's program
    python cc/ninja_build.py steps --sanitize address # tests/fuzz/service_steps's

libpersia.so is all of cc/ but cc/ops, and knows no TensorFlow; _persia_ops.so is
cc/ops. Without OpenSSL's static libraries (libssl-dev) there is no TLS. Sources are
found by their place: a new file needs no entry here. $CXX, $CXXFLAGS and $LDFLAGS are
honoured.
"""

import argparse
import fcntl
import importlib.util
import io
import os
import platform
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import ninja
from ninja import ninja_syntax

_ROOT = Path(__file__).resolve().parent.parent
# Relative to the package.
LIBRARIES = ("libpersia.so", "ops/_persia_ops.so")
_EXPORTS = "cc/exports.map"

# In the order in which they include each other.
_MODULES = (
    "base",
    "files",
    "json",
    "optimizer",
    "store",
    "checkpoint",
    "log",
    "journal",
    "service",
    "tls",
    "wire",
    "server",
    "client",
)
_MODULES += ("pipeline", "serving", "capi")

# Of each program of tests, which run beside each other.
_TEST_PARTS = 2

# What tests/fuzz speaks to.
_FUZZED = _MODULES[: _MODULES.index("server") + 1]

# What tests/fuzz/service_steps speaks to, and what it is made of.
_SERVICE = _MODULES[: _MODULES.index("service") + 1]
_STEPS = ("tests/fuzz/service", "tests/fuzz/service_steps")

# The programs under benchmarks/: the modules that each measures, no more of the core,
# and libraries from elsewhere.
_BENCHMARKS = {
    "store_bench": (("base", "optimizer", "store"), []),
    "lookup_bench": (_MODULES[: _MODULES.index("client") + 1], []),
    "redis_bench": ((), ["-lhiredis"]),
    "log_bench": (("base", "files", "log"), []),
    "chosen_ids": (("base", "optimizer", "store"), []),
    "tls_bench": (_MODULES[: _MODULES.index("client") + 1], []),
    "delay_proxy": (_MODULES[: _MODULES.index("wire") + 1], []),
}

# TLS, static, so that it stays hidden: TensorFlow has a TLS library of its own, and
# so has Python.
_TLS_ARCHIVES = ("libssl.a", "libcrypto.a")

_CXXFLAGS = (
    "-std=c++17 -Wall -Wextra -Werror -fvisibility=hidden -fPIC -pthread -I. "
    # With errno, loops over square roots are not vectorised.
    "-fno-math-errno "
    # With it, rows would differ in their last bit from CPU to CPU.
    "-ffp-contract=off"
).split()
# By kind of build. Each has a folder of its own, so that its objects stay valid.
_KIND_FLAGS = {
    None: ["-O3"],
    "address": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"],
    "thread": ["-O1", "-g", "-fsanitize=thread"],
    "fuzz": [
        *("-O2", "-g", "-fno-omit-frame-pointer"),
        "-fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow",
        "-fno-sanitize-recover=all",
    ],
}


def build_libraries(package):
    """Builds the shared objects into `package`, a folder."""
    manifest = _Manifest(kind=None)
    core = manifest.add_core()
    _run_ninja(manifest, manifest.add_libraries(package, core))


def run_tests(kind=None, up_to=_MODULES[-1]):
    """Builds the C++ tests of modules, one program each, and runs them.

    Args:
        kind: None, or a sanitizer.
        up_to: The last module of those to test, in the order of their includes.
    """
    manifest = _Manifest(kind)
    modules = _MODULES[: _MODULES.index(up_to) + 1]
    _run_ninja(manifest, manifest.add_tests(modules))


def build_benchmark(name):
    """Builds the program of benchmarks/`name`; returns its path."""
    manifest = _Manifest(kind=None)
    [program] = manifest.add_benchmark(name)
    _run_ninja(manifest, [program])
    return _ROOT / program


def build_host(kind=None):
    """Builds tests/faults/host, a shard without Python; returns its path."""
    manifest = _Manifest(kind)
    [program] = manifest.add_program("shard_host", _MODULES, "tests/faults/host")
    _run_ninja(manifest, [program])
    return _ROOT / program


def build_steps(kind=None):
    """Builds tests/fuzz/service_steps; returns its path."""
    manifest = _Manifest(kind)
    [program] = manifest.add_program("service_steps", _SERVICE, *_STEPS)
    _run_ninja(manifest, [program])
    return _ROOT / program


def build_fuzzers():
    """Builds a libFuzzer program for each tests/fuzz/*_fuzz.cc; returns their paths."""
    manifest = _Manifest("fuzz")
    programs = manifest.add_fuzzers()
    _run_ninja(manifest, programs)
    return [_ROOT / program for program in programs]


class _Manifest:
    """The text of a build.ninja in the making; its paths are relative to _ROOT."""

    def __init__(self, kind):
        self.folder = "build/native" + (f"-{kind}" if kind else "")
        self.text = io.StringIO()
        self._writer = ninja_syntax.Writer(self.text, width=4096)
        self._writer.variable("builddir", self.folder)
        self.compiler = _compiler(kind)
        self._writer.variable("cxx", self.compiler)
        self._write_flags(_KIND_FLAGS[kind])
        self._write_rules()

    def _write_flags(self, kind_flags):
        boost = _package_folder("boost_headers", "boost-headers")
        cxxflags = [*_CXXFLAGS, *kind_flags, f"-isystem {boost}/include"]
        if platform.machine() == "x86_64":
            # Short rows would find no use for vectors of 512 bits.
            cxxflags += ["-march=x86-64-v2", "-mprefer-vector-width=256"]
        tls = _tls_archives(self.compiler)
        if not tls:
            cxxflags.append("-DPERSIA_WITHOUT_TLS")
        cxxflags.append(os.environ.get("CXXFLAGS", ""))
        ldflags = ["-pthread", *kind_flags, os.environ.get("LDFLAGS", "")]
        self._writer.variable("cxxflags", cxxflags)
        self._writer.variable("ldflags", ldflags)
        self._writer.variable("tls", tls)

    def _write_rules(self):
        rule = self._writer.rule
        rule(
            "compile",
            "$cxx $cxxflags $more -MD -MF $out.d -c $in -o $out",
            description="compile $in",
            depfile="$out.d",
            deps="gcc",
        )
        rule(
            "link_library",
            "$cxx -shared $ldflags -Wl,--no-undefined -Wl,-soname,$soname "
            f"-Wl,--version-script={_EXPORTS} $in $libs $tls -o $out",
            description="link $out",
        )
        # "q" and not "r": members of two folders may have one name.
        rule("archive", "rm -f $out && ar cqs $out $in", description="archive $out")
        rule(
            "link_test",
            "$cxx $ldflags $in -lgtest_main -lgtest $tls -o $out",
            description="link $out",
        )
        rule(
            "link_program",
            "$cxx $ldflags $in $libs $tls -o $out",
            description="link $out",
        )
        self._writer.pool("tests", depth=_TEST_PARTS)
        rule(
            "test",
            f"GTEST_TOTAL_SHARDS={_TEST_PARTS} GTEST_SHARD_INDEX=$part "
            "$in --gtest_brief=1",
            description="test $in, part $part",
            pool="tests",
        )
        self._writer.build("always", "phony")  # No such file, so never up to date.

    def _add_objects(self, sources, more=()):
        objects = []
        for source in sources:
            objects += self._writer.build(
                f"{self.folder}/{source.with_suffix('.o')}",
                "compile",
                str(source),
                variables={"more": list(more)},
            )
        return objects

    def add_core(self):
        """Compiles all of cc/ but cc/ops."""
        sources = _sources("cc/*/*.cc")
        return self._add_objects(s for s in sources if s.parent.name != "ops")

    def add_libraries(self, package, core):
        libpersia, ops = (
            os.path.relpath(os.path.join(package, library), _ROOT)
            for library in LIBRARIES
        )
        self._add_library(libpersia, core)
        tensorflow = _package_folder("tensorflow", "tensorflow")
        includes = [f"-isystem {tensorflow}/include"]
        # No run path to TensorFlow: what loads the ops has loaded it already.
        libs = [
            "'-Wl,-rpath,$$ORIGIN/..'",
            f"-L{tensorflow}",
            "-l:libtensorflow_framework.so.2",
        ]
        objects = self._add_objects(_sources("cc/ops/*.cc"), includes)
        self._add_library(ops, [*objects, libpersia], libs)
        return [libpersia, ops]

    def _add_library(self, target, inputs, libs=()):
        variables = {"soname": os.path.basename(target), "libs": list(libs)}
        self._writer.build(
            target, "link_library", inputs, implicit=_EXPORTS, variables=variables
        )

    def add_tests(self, modules):
        sources = _module_sources("cc", modules)
        helpers = _module_sources("tests/cc", modules)
        if "server" in modules:  # They speak to servers, over the wire.
            helpers += _sources("tests/cc/support/*.cc")
        sources += [helper for helper in helpers if not _is_test(helper)]
        archive = f"{self.folder}/libpersia-{modules[-1]}.a"
        self._writer.build(archive, "archive", self._add_objects(sources))
        runs = []
        for module in modules:
            tests = list(filter(_is_test, _module_sources("tests/cc", [module])))
            if not tests:  # Another module's tests are about it.
                continue
            # To optimise what runs for milliseconds takes longer than to run it.
            objects = self._add_objects(tests, ["-O0"])
            program = f"{self.folder}/{module}_test"
            self._writer.build(program, "link_test", [*objects, archive])
            for part in range(_TEST_PARTS):
                runs += self._writer.build(
                    f"{self.folder}/run/{module}.{part}",
                    "test",
                    program,
                    implicit="always",
                    variables={"part": part},
                )
        return runs

    def add_benchmark(self, name):
        modules, libs = _BENCHMARKS[name]
        folders = "benchmarks/support", f"benchmarks/{name}"
        return self.add_program(name, modules, *folders, libs=libs)

    def add_program(self, name, modules, *folders, libs=()):
        sources = _module_sources("cc", modules)
        for folder in folders:
            sources += _sources(f"{folder}/*.cc")
        return self._writer.build(
            f"{self.folder}/{name}",
            "link_program",
            self._add_objects(sources),
            variables={"libs": list(libs)},
        )

    def add_fuzzers(self):
        archive = f"{self.folder}/libpersia-fuzzed.a"
        sources = _module_sources("cc", _FUZZED)
        self._writer.build(archive, "archive", self._add_objects(sources))
        support = self._add_objects(_sources("tests/fuzz/support/*.cc"))
        programs = []
        for target in _sources("tests/fuzz/*_fuzz.cc"):
            # And what it alone is made of, in a folder of its name.
            own = _sources(f"tests/fuzz/{target.stem.removesuffix('_fuzz')}/*.cc")
            programs += self._writer.build(
                f"{self.folder}/{target.stem}",
                "link_program",
                [*self._add_objects([target, *own]), *support, archive],
                variables={"libs": ["-fsanitize=fuzzer"]},
            )
        return programs


def _compiler(kind):
    if kind != "fuzz":
        return os.environ.get("CXX", "g++")
    # libFuzzer is Clang's. Debian's programs have their version in their name.
    clang = os.environ.get("CXX", "")
    if "clang" in os.path.basename(clang):
        return clang
    folders = [Path(folder) for folder in os.get_exec_path()]
    found = {path.name for folder in folders for path in folder.glob("clang++*")}
    named = {
        int(name[8:]): name for name in found if re.fullmatch(r"clang\+\+-\d+", name)
    }
    if named:
        return named[max(named)]
    if shutil.which("clang++"):
        return "clang++"
    raise SystemExit("fuzzing needs Clang, which is not here: make clang")


def _tls_archives(compiler):
    """Where OpenSSL's static libraries are; none, and so no TLS, if one is not."""
    found = [
        subprocess.run(
            [*shlex.split(compiler), f"-print-file-name={archive}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for archive in _TLS_ARCHIVES
    ]
    # What is not found is printed as it was asked for.
    if all(map(os.path.isabs, found)):
        return found
    print(f"There is no {' or no '.join(_TLS_ARCHIVES)}: this build has no TLS.")
    return []


def _sources(pattern):
    return sorted(path.relative_to(_ROOT) for path in _ROOT.glob(pattern))


def _module_sources(root, modules):
    return [
        source for module in modules for source in _sources(f"{root}/{module}/*.cc")
    ]


def _is_test(source):
    return source.match("*_test.cc")


def _package_folder(module, distribution):
    """Where a package is installed, found without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None:
        raise SystemExit(
            f"the native build needs the package {distribution}, which this Python "
            f"does not have: pip install {distribution}"
        )
    return os.path.dirname(spec.origin)


def _run_ninja(manifest, targets):
    folder = _ROOT / manifest.folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "build.ninja"
    program = os.path.join(ninja.BIN_DIR, "ninja")  # BIN_DIR "": it is on PATH.
    command = [program, "-C", str(_ROOT), "-f", str(path), *targets]
    with (folder / "lock").open("w") as lock:
        # Of two at once, each would spoil the other's manifest and log.
        fcntl.flock(lock, fcntl.LOCK_EX)
        path.write_text(manifest.text.getvalue())
        subprocess.run(command, check=True)


_WHATS = ("libraries", "test", "bench", "fuzz", "host", "steps")


def _main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=_WHATS)
    parser.add_argument("--sanitize", choices=["address", "thread"])
    parser.add_argument("--up-to", choices=_MODULES, default=_MODULES[-1])
    parser.add_argument("--program", choices=_BENCHMARKS, default="store_bench")
    arguments = parser.parse_args()
    try:
        if arguments.what == "test":
            run_tests(arguments.sanitize, arguments.up_to)
        elif arguments.what == "host":
            build_host(arguments.sanitize)
        elif arguments.what == "steps":
            build_steps(arguments.sanitize)
        elif arguments.sanitize:
            parser.error("--sanitize goes with test, host and steps")
        elif arguments.what == "bench":
            build_benchmark(arguments.program)
        elif arguments.what == "fuzz":
            build_fuzzers()
        else:
            build_libraries(_ROOT / "persia_tf")
    except subprocess.CalledProcessError as error:
        raise SystemExit(error.returncode) from None  # ninja said why.


if __name__ == "__main__":
    _main()
