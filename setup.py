"""For what still runs setup.py: passes the work to pip, which reads pyproject.toml.

    python setup.py install | develop | bdist_wheel

The build is described in CMakeLists.txt and tools/build_backend.py.
"""

import subprocess
import sys
from pathlib import Path

_PIP = {
    "install": ["install", "."],
    "develop": ["install", "--editable", "."],
    "bdist_wheel": ["wheel", "--no-deps", "--wheel-dir", "dist", "."],
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in _PIP:
        sys.exit(f"usage: setup.py {' | '.join(_PIP)}; anything else: pip, build")
    command = [sys.executable, "-m", "pip", *_PIP[sys.argv[1]]]
    sys.exit(subprocess.run(command, cwd=Path(__file__).parent).returncode)
