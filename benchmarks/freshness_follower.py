"""The follower of freshness.py: serves an export, follows shards, records answers.

    python benchmarks/freshness_follower.py EXPORT SHARDS ROWS

It prints a line of JSON once its rows are up to date. After a line of input it waits
until they are up to date again, writes them to ROWS, and prints when it first answered
with each number of steps.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import numpy as np
import tensorflow as tf

import persia_tf as ptf

_CURRENT_SECONDS = 300
_PAUSE_SECONDS = 0.002


class Asker(threading.Thread):
    """Calls the model repeatedly, and records each new count of steps.

    Attributes:
        seen: Pairs of a count and the time at which the model first answered with it.
    """

    def __init__(self, serve: object) -> None:
        super().__init__(daemon=True)
        self.seen: list[tuple[float, float]] = []
        self._serve = serve
        specs = serve.structured_input_signature[1]
        self._inputs = {
            name: tf.zeros([size or 1 for size in spec.shape], spec.dtype)
            for name, spec in specs.items()
        }
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.is_set():
            self.ask()
            time.sleep(_PAUSE_SECONDS)

    def ask(self) -> None:
        answer = float(self._serve(**self._inputs)["steps"][0, 0])
        now = time.monotonic()
        if not self.seen or answer != self.seen[-1][0]:
            self.seen.append((answer, now))

    def stop(self) -> None:
        self._enough.set()
        self.join()


def main() -> None:
    export, shards, rows = sys.argv[1:]
    model = tf.saved_model.load(export)
    with ptf.serving.Follower(model, shards.split(",")) as follower:
        follower.wait_until_current(_CURRENT_SECONDS)
        asker = Asker(model.signatures["serving_default"])
        asker.start()
        print(json.dumps("current"), flush=True)
        sys.stdin.readline()
        follower.wait_until_current(_CURRENT_SECONDS)
        asker.stop()
        asker.ask()
    tables = {}
    for name, table in model.tables.items():
        ids = table.ids()
        tables[f"{name}/ids"] = ids.numpy()
        tables[f"{name}/rows"] = table.read(ids).numpy()
    np.savez(rows, **tables)
    print(json.dumps(asker.seen), flush=True)


if __name__ == "__main__":
    main()
