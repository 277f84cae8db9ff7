"""How the native code and the tests are built."""

_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fvisibility=hidden",
    # With errno, loops over square roots are not vectorised.
    "-fno-math-errno",
    # With it, rows would differ in their last bit from CPU to CPU.
    "-ffp-contract=off",
    "-pthread",
] + select({
    "@platforms//cpu:x86_64": [
        "-march=x86-64-v2",
        # Short rows would find no use for vectors of 512 bits.
        "-mprefer-vector-width=256",
    ],
    "//conditions:default": [],
})

def persia_module(name, includes = [], deps = [], links = True, linkopts = []):
    """Declares the module that a folder of this package is: all its sources.

    Args:
      name: the folder's.
      includes: the modules whose headers it may include.
      deps: libraries from elsewhere that it needs.
      linkopts: what programs that it becomes a part of are linked with.
      links: whether it is linked with those modules; if not, the program that
        it becomes a part of finds them in libpersia.so.
    """
    native.cc_library(
        name = name + "_headers",
        hdrs = native.glob([name + "/*.h"]),
        visibility = ["//visibility:public"],
        deps = [":%s_headers" % module for module in includes] + deps,
    )
    native.cc_library(
        name = name,
        srcs = native.glob([name + "/*.cc"]),
        copts = _COPTS,
        linkopts = linkopts,
        linkstatic = True,
        visibility = ["//visibility:public"],
        deps = [":%s_headers" % name] + (includes if links else []),
        alwayslink = True,
    )

def persia_library(name, deps, srcs = []):
    """Declares a shared object, which exports what exports.map lets it.

    Args:
      name: its file name.
      deps: what becomes a part of it.
      srcs: the shared objects that it needs.
    """
    native.cc_binary(
        name = name,
        srcs = srcs,
        additional_linker_inputs = ["exports.map"],
        linkopts = [
            "-Wl,--no-undefined",
            "-Wl,-soname," + name,
            "-Wl,--version-script=$(location exports.map)",
        ],
        linkshared = True,
        visibility = ["//visibility:public"],
        deps = deps,
    )

def persia_cc_tests(name, deps):
    """Declares a test for each */*_test.cc, and a suite of them all.

    Args:
      name: the suite's.
      deps: what they test.
    """
    native.cc_library(
        name = "shared",
        testonly = True,
        srcs = native.glob(["*/*.cc"], exclude = ["*/*_test.cc"]),
        hdrs = native.glob(["*/*.h"]),
        copts = _COPTS,
        linkstatic = True,
        deps = deps,
    )
    tests = []
    for source in native.glob(["*/*_test.cc"]):
        test = source.replace(".cc", "")
        tests.append(test)
        native.cc_test(
            name = test,
            srcs = [source],
            copts = _COPTS,
            linkopts = [
                "-lgtest_main",
                "-lgtest",
            ],
            linkstatic = True,
            deps = [":shared"],
        )
    native.test_suite(name = name, tests = tests)

def persia_py_tests(name, srcs, data, deps, long_running = []):
    """Declares a test, run by pytest, for each file, and a suite of them all.

    Args:
      name: the suite's.
      srcs: the files.
      data: the files that they read.
      deps: the Python that they import.
      long_running: folders whose tests are tagged so, and files.
    """
    tests = []
    for source in srcs:
        test = source.replace(".py", "")
        tests.append(test)
        native.py_test(
            name = test,
            srcs = [
                source,
                "//bazel:pytest_main.py",
            ],
            args = ["$(rootpath %s)" % source],
            data = data,
            main = "//bazel:pytest_main.py",
            python_version = "PY3",
            tags = ["long_running"] if source.split("/")[0] in long_running else [],
            deps = deps,
        )
    native.test_suite(name = name, tests = tests)
