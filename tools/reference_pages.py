"""Generates the API reference: all public names of persia_tf, from the sources alone.

Public names are those that `__all__` lists, in `persia_tf/__init__.py` and in the
modules that its `_MODULES` names. Sources are parsed and not imported, so this does not
need TensorFlow.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

# Not resolved: a sandbox accesses the sources through symbolic links.
ROOT = Path(os.path.abspath(__file__)).parents[1]
PACKAGE = "persia_tf"

# Classes that users do not create, but get as results of `ptf.convert`,
# `ptf.local_cluster`, `Cluster.stats`, and `Table.export`.
RETURNED = (
    "persia_tf.conversion.Conversion",
    "persia_tf.conversion.ConvertedLayer",
    "persia_tf.conversion.LeftLayer",
    "persia_tf.conversion.Report",
    "persia_tf.local_shards.LocalCluster",
    "persia_tf.planning.estimate.Estimate",
    "persia_tf.planning.parts.GrowthPoint",
    "persia_tf.planning.parts.ShardsPlan",
    "persia_tf.planning.parts.TablePlan",
    "persia_tf.planning.skew.Skew",
    "persia_tf.stats.ProcessStats",
    "persia_tf.stats.TableStats",
    "persia_tf.table.Rows",
)


def public_names() -> dict[str, list[str]]:
    """Returns the full public names, by the module whose page has them.

    Raises:
        ValueError: if a module has no `__all__`, or a computed one.
    """
    modules = _literal(PACKAGE, "_MODULES")
    own = [
        f"{PACKAGE}.{name}"
        for name in _literal(PACKAGE, "__all__")
        if name not in modules and not name.startswith("_")
    ]
    names = {PACKAGE: [*own, *RETURNED]}
    for module in (f"{PACKAGE}.{name}" for name in modules):
        names[module] = [f"{module}.{name}" for name in _literal(module, "__all__")]
    return names


def definition(name: str) -> str:
    """Returns the full name under which the sources define a public name.

    A function may have the same public name as the module that defines it. In the
    sources, that name means the module, so the function is `module.name`.
    """
    return f"{name}.{name.rpartition('.')[2]}" if _source(name).is_file() else name


def pages() -> dict[str, str]:
    """Returns the pages of the reference in Markdown, by file name."""
    return {
        f"{module}.md": _page(module, names) for module, names in public_names().items()
    }


def _page(module: str, names: list[str]) -> str:
    summary = ast.get_docstring(ast.parse(_source(module).read_text()))
    entries = "\n\n".join(f"::: {definition(name)}" for name in names)
    return f"# {module}\n\n{summary}\n\n{entries}\n"


def _source(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _literal(module: str, variable: str) -> Any:
    source = _source(module)
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == variable:
            return ast.literal_eval(node.value)
    raise ValueError(f"{source} must have a literal `{variable}`: what is public there")
