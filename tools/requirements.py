"""Prints requirements from pyproject.toml, one per line.

    python tools/requirements.py         # Those of a build.
    python tools/requirements.py docs    # Those of an extra, without the package's own.

If an environment has the build's requirements, pip can build in it, and need not create
an isolated environment with another TensorFlow for each build.
"""

import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11.
    from pip._vendor import tomli as tomllib

pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"
settings = tomllib.loads(pyproject.read_text())
if len(sys.argv) > 1:
    requirements = settings["project"]["optional-dependencies"][sys.argv[1]]
else:
    requirements = settings["build-system"]["requires"]
print("\n".join(requirements))
