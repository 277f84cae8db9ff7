"""Draws the pictures of the documentation: docs/pictures/*.svg.

python tools/draw_pictures.py
"""

from __future__ import annotations

import os
from pathlib import Path

import architecture_picture
import plots
import timeline_picture

# Not resolved: a sandbox accesses the sources through symbolic links.
_ROOT = Path(os.path.abspath(__file__)).parents[1]
PICTURES = _ROOT / "docs" / "pictures"

# A picture of a measured run, which tools/dashboard_picture.py draws.
MEASURED = "dashboard.svg"

# How the names of pictures begin that benchmarks/report.py draws.
OF_REPORT = "report_"


def pictures() -> dict[str, str]:
    """Returns all pictures, as SVG, by the names of their files."""
    return {
        "architecture.svg": architecture_picture.draw(),
        "timeline.svg": timeline_picture.draw(),
        **plots.draw(),
    }


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text)


if __name__ == "__main__":
    main()
