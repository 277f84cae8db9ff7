"""cc/modules.json, which CMake reads too, as a file that BUILD files can load."""

def _module_table_impl(repository_ctx):
    table = repository_ctx.read(Label("//cc:modules.json"))
    repository_ctx.file("BUILD")
    repository_ctx.file("modules.bzl", "MODULES = " + table)

module_table = repository_rule(
    doc = "Which module of cc/ may include which: @module_table//:modules.bzl.",
    implementation = _module_table_impl,
    local = True,
)
