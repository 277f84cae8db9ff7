"""A program for `persia launch`, which counts until it is told to stop.

    python launched_counting.py FOLDER

It writes the number of its steps to `steps`, and stops once there is `stop`. Then it
writes how many of its rows are wrong, and the sum of all rows, to `end`.
"""

import sys
from pathlib import Path

from counting import Counting

import persia_tf as ptf


def main():
    folder = Path(sys.argv[1])
    cluster = ptf.Cluster(timeout=60, staleness=2)
    counting = Counting("counts", cluster)
    while not (folder / "stop").exists():
        counting()
        new = folder / "steps.new"
        new.write_text(str(counting.steps))
        new.rename(folder / "steps")
    cluster.flush()
    total = int(counting.counts().sum())
    (folder / "end").write_text(f"{len(counting.wrong_rows())} {total}")


if __name__ == "__main__":
    main()
