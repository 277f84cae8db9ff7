"""Prints requirements from pyproject.toml, one per line.

    python tools/requirements.py         # What a build requires.
    python tools/requirements.py docs    # What the extra `docs` adds to the package's.

If an environment has the build's requirements, pip can build in it, and need not create
an isolated environment for each build.
"""

import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11.
    from pip._vendor import tomli as tomllib

# pip installs these programs for a build only if the system lacks them. Developers also
# call them outside of pip, so their environments always have them.
PROGRAMS = ["cmake>=3.24", "ninja>=1.11"]

pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"
settings = tomllib.loads(pyproject.read_text())
if len(sys.argv) > 1:
    requirements = settings["project"]["optional-dependencies"][sys.argv[1]]
else:
    requirements = settings["build-system"]["requires"] + PROGRAMS
print("\n".join(requirements))
