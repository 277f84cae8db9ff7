"""Programs that save and are disturbed, and functions that restore afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

from harness import DEADLINE_SECONDS, wait_until

import persia_tf as ptf
from persia_tf import errors

# Below the shards' root.
FOLDER = "saved"

# A program that saves when it is told to.
_SAVER = """
import sys
import persia_tf as ptf
from persia_tf import checkpoint
cluster = ptf.Cluster(sys.argv[1].split(","), timeout=4)
cluster.stats()  # Connected.
print("ready", flush=True)
sys.stdin.readline()
checkpoint.save(sys.argv[3], cluster=cluster, incremental=sys.argv[2] == "True")
"""


class Saver:
    """A program that saves a cluster's rows."""

    def __init__(self, addresses, incremental: bool) -> None:
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _SAVER),
                *(",".join(addresses), str(incremental), FOLDER),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **path},
        )
        assert self._process.stdout.readline() == b"ready\n"

    def begin(self) -> None:
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> bool:
        """Waits for the program's end; returns whether it saved."""
        code = self._process.wait(DEADLINE_SECONDS)
        self._process.stdin.close()
        self._process.stdout.close()
        return code == 0


def once_free(action, what: str):
    """Repeats what shards refuse while the save of a killed program goes on."""
    results = []

    def done() -> bool:
        try:
            results.append(action())
        except errors.FailedPreconditionError:
            return False
        return True

    wait_until(done, what)
    return results[0]


def restore(cluster) -> str:
    """Restores the newest checkpoint; returns its folder."""
    return once_free(
        lambda: ptf.checkpoint.restore(FOLDER, cluster=cluster), "a restore"
    )
