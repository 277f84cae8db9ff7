"""How large incremental checkpoints are, over full ones, under W1's skew.

    python benchmarks/increment_bytes.py
    python benchmarks/increment_bytes.py --steps 1 10 100

Rows are in this process: one for each of the click model's 10 million ids, of 16
float32 with Adagrad. All rows in the batches of some steps are set, as if training
changed them, and then an increment is saved. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import workload_w1 as w1

import persia_tf as ptf

_PAGE = 1 << 18


def main() -> None:
    arguments = parse_arguments()
    cluster = ptf.Cluster.embedded()
    ptf.layers.PersiaEmbedding(
        w1.DIM, table="w1", cluster=cluster, embeddings_initializer="zeros"
    ).build()
    table = ptf.Table("w1", cluster)
    for ids in all_ids():
        table.assign(ids, np.zeros((len(ids), w1.DIM), np.float32))
    batches = w1.load(max(arguments.steps)).ids()
    figures = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        whole, seconds = save(folder, cluster, incremental=False)
        print(f"whole: {len(table)} rows, {whole} bytes, {seconds:.2f} s")
        for steps in arguments.steps:
            changed = np.unique(batches[:steps])
            table.assign(changed, np.ones((len(changed), w1.DIM), np.float32))
            size, took = save(folder, cluster, incremental=True)
            figures.append(
                {
                    "steps": steps,
                    "rows": len(changed),
                    "bytes": size,
                    "of_whole": size / whole,
                    "seconds_of_whole": took / seconds,
                }
            )
            print(f"{steps} steps: {len(changed)} rows, {size / whole:.2%} of it")
    setup = {"rows": len(table), "batch": w1.BATCH, "whole_bytes": whole}
    print(
        json.dumps({"benchmark": "increment_bytes", "figures": figures, "setup": setup})
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--steps", type=int, nargs="+", default=[1, 10, 50, 200], metavar="N")
    add("--folder", help="folder for checkpoints (the system's temporary one)")
    return parser.parse_args()


def all_ids():
    """Yields all ids of each feature, in chunks."""
    for feature, size in enumerate(w1.vocabularies()):
        for begin in range(0, size, _PAGE):
            ranks = np.arange(begin, min(size, begin + _PAGE))
            yield w1.ids_of(ranks, np.full(len(ranks), feature))


def save(folder: str, cluster: ptf.Cluster, incremental: bool) -> tuple[int, float]:
    """Saves; returns the checkpoint's bytes and the seconds that it took."""
    begin = time.monotonic()
    saved = ptf.checkpoint.save(folder, cluster=cluster, incremental=incremental)
    took = time.monotonic() - begin
    if saved.is_incremental != incremental:
        raise SystemExit("a full checkpoint was saved instead: see the log")
    return sum(file.stat().st_size for file in Path(saved.folder).iterdir()), took


if __name__ == "__main__":
    main()
