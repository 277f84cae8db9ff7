"""Seconds from the start of a program to its first trained step, beside Keras's layer.

    python benchmarks/cold_start.py

Each program imports its library, builds a model with one embedding per feature, rows
in the program itself, and trains it on one batch by `fit`. The programs run in turn,
each in a process of its own. Figures are ratios to `keras`, the program on
`keras.layers.Embedding`, by the number of features; the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

KINDS = ("keras", "layers", "one_layer")
FEATURES = (26, 200)
DIM = 16
BATCH = 512
VOCABULARY = 1000


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--turns", type=int, default=5, help="of each program (%(default)s)")
    add("--features", type=int, action="append", help=f"may be repeated {FEATURES}")
    add("--quick", action="store_true", help="only a smoke test")
    add("--run", choices=KINDS, help="runs one program, and prints its seconds")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.turns, arguments.features = 1, [3]
    arguments.features = arguments.features or FEATURES
    return arguments


def train(kind: str, features: int) -> None:
    """Imports the libraries, builds the model, and trains it on one batch."""
    import keras
    import numpy as np

    names = [f"f{i}" for i in range(features)]
    inputs = {name: keras.Input((), dtype="int64", name=name) for name in names}
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors_of(kind, inputs)))
    model.compile("adam", "mse")
    random = np.random.default_rng(0)
    ids = {name: random.integers(0, VOCABULARY, BATCH) for name in names}
    model.fit(ids, np.zeros(BATCH), batch_size=BATCH, verbose=0)


def vectors_of(kind: str, inputs: dict[str, object]) -> object:
    """Returns the joined vectors of the features."""
    import keras

    if kind == "keras":
        embed = {name: keras.layers.Embedding(VOCABULARY, DIM) for name in inputs}
    else:
        import persia_tf as ptf

        if kind == "one_layer":
            tables = {name: ptf.TableConfig(DIM) for name in inputs}
            return ptf.layers.PersiaEmbeddings(tables, joined=True)(inputs)
        embed = {name: ptf.layers.PersiaEmbedding(DIM, table=name) for name in inputs}
    return keras.layers.Concatenate()([embed[name](inputs[name]) for name in inputs])


def seconds(kind: str, features: int) -> float:
    """Returns how long a program takes, from its start to the end of its step."""
    command = [sys.executable, __file__, "--run", kind, "--features", str(features)]
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def main() -> None:
    arguments = parse_arguments()
    if arguments.run:
        train(arguments.run, arguments.features[0])
        return
    load = os.getloadavg()[0]
    figures, taken = {}, {}
    for features in arguments.features:
        turns: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(arguments.turns):
            for kind in KINDS:
                turns[kind].append(seconds(kind, features))
        medians = {kind: statistics.median(turns[kind]) for kind in KINDS}
        for kind in KINDS[1:]:
            name = f"first_step_{kind}_{features}"
            figures[name] = medians[kind] / medians["keras"]
            print(f"{name:28} {figures[name]:6.3f}", flush=True)
        taken[features] = turns
    setup = {
        "turns": taken,
        "dim": DIM,
        "batch": BATCH,
        "cores": os.cpu_count(),
        "load_average_before": round(load, 2),
    }
    print(json.dumps({"benchmark": "cold_start", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
