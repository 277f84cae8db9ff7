"""Prints what pyproject.toml says a build needs, one requirement a line.

Building in an environment that has them keeps pip from making one of its own,
with a TensorFlow of its own, for every build.
"""

from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11.
    from pip._vendor import tomli as tomllib

pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"
settings = tomllib.loads(pyproject.read_text())
print("\n".join(settings["build-system"]["requires"]))
