"""Prints requirements out of pyproject.toml, one a line.

    python tools/requirements.py         # Of a build.
    python tools/requirements.py docs    # Of an extra, without the package's own.

Building in an environment that has them keeps pip from making one of its own,
with a TensorFlow of its own, for every build.
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
