"""The speed-up by XLA if it compiles only the dense part of a model.

    python benchmarks/xla_dense.py --write

Two models of each kind train in turn in one process, A B A B ...; in one of them the
call of the nested dense model is a `tf.function(jit_compile=True)`. Rows are in the
program, and lookups are prefetched. Models of kind `mlp` have Dense layers 256-128-1.
Those of kind `cross` have three cross layers of DCN-v2, with layer normalization,
before these Dense layers: many small ops that XLA fuses. Figures are steps per second
of the compiled model over those of the plain one, and the processor time of the plain
model over that of the compiled one, which other programs on the machine affect less.
They are medians of turns. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from results_file import write_section
from w1_model import versions

import persia_tf as ptf
from persia_tf._keras import keras

FEATURES = 26
DIM = 16
VOCABULARY = 10_000  # Per feature.
BATCHES = 8
_HEADING = """## XLA for the dense part

`benchmarks/xla_dense.py --write`: steps a second where XLA compiles the dense part,
over those without XLA: medians of turns (least to greatest). `in processor time` is
plain over compiled: above 1, XLA saves work. `first step` includes tracing and, for
compiled, the compilation."""


class Cross(keras.layers.Layer):
    """`x0 * (W x + b) + x`, of DCN-v2 (Wang et al., 2021)."""

    def build(self, input_shape: Any) -> None:
        self.dense = keras.layers.Dense(input_shape[0][-1])
        self.dense.build(input_shape[0])
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        x0, x = inputs
        return x0 * self.dense(x) + x


def make_mlp() -> Any:
    x = inputs = keras.Input((FEATURES * DIM,))
    for units in (256, 128):
        x = keras.layers.Dense(units, activation="relu")(x)
    return keras.Model(inputs, keras.layers.Dense(1)(x))


def make_cross() -> Any:
    x = inputs = keras.Input((FEATURES * DIM,))
    for _ in range(3):
        x = keras.layers.LayerNormalization()(Cross()([inputs, x]))
    return keras.Model(inputs, make_mlp()(x))


KINDS: dict[str, Callable[[], Any]] = {"mlp": make_mlp, "cross": make_cross}


class Side:
    """A model in training."""

    def __init__(self, table: str, dense: Any, data: tf.data.Dataset) -> None:
        ids = keras.Input((FEATURES,), dtype="int64")
        vectors = ptf.layers.PersiaEmbedding(
            DIM, table=table, cluster=ptf.Cluster.embedded()
        )(ids)
        self.model = keras.Model(ids, dense(keras.layers.Flatten()(vectors)))
        loss = keras.losses.BinaryCrossentropy(from_logits=True)
        self.model.compile("adam", loss)
        self._data = ptf.data.prefetch(data, self.model)

    def seconds(self, steps: int) -> tuple[float, float]:
        """Trains; returns the elapsed time and the processor time."""
        begin, cpu_begin = time.monotonic(), time.process_time()
        self.model.fit(self._data, steps_per_epoch=steps, shuffle=False, verbose=0)
        return time.monotonic() - begin, time.process_time() - cpu_begin


def make_data(batch: int) -> tf.data.Dataset:
    random = np.random.default_rng(0)
    shape = (BATCHES, batch, FEATURES)
    ids = np.minimum(random.zipf(1.2, shape), VOCABULARY)
    ids += np.arange(FEATURES) * VOCABULARY
    labels = random.integers(0, 2, (BATCHES, batch, 1)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((ids.astype("int64"), labels)).repeat()


def measure(kind: str, batch: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains the two models of a kind in turn."""
    data = make_data(batch)
    sides = {}
    for name in ("plain", "compiled"):
        keras.utils.set_random_seed(0)
        dense = KINDS[kind]()
        if name == "compiled":
            dense.call = tf.function(dense.call, jit_compile=True)
        sides[name] = Side(f"{kind}_{batch}_{name}", dense, data)
    first = {name: side.seconds(1)[0] for name, side in sides.items()}
    for side in sides.values():
        side.seconds(5)  # Warm-up.
    ratios, cpu_ratios, plain = [], [], []
    for _ in range(arguments.turns):
        took = {name: side.seconds(arguments.steps) for name, side in sides.items()}
        ratios.append(took["plain"][0] / took["compiled"][0])
        cpu_ratios.append(took["plain"][1] / took["compiled"][1])
        plain.append(1e3 * took["plain"][0] / arguments.steps)
    return {
        "kind": kind,
        "batch": batch,
        "compiled_over_plain": statistics.median(ratios),
        "least": min(ratios),
        "greatest": max(ratios),
        "cpu_plain_over_compiled": statistics.median(cpu_ratios),
        "plain_ms_per_step": statistics.median(plain),
        "plain_first_step_seconds": first["plain"],
        "compiled_first_step_seconds": first["compiled"],
    }


def markdown(results: list[dict[str, Any]]) -> str:
    lines = [
        "| dense part | batch | compiled over plain | in processor time "
        "| ms a step, plain | first step, plain | first step, compiled |",
        "|---|---|---|---|---|---|---|",
    ]
    for said in results:
        lines.append(
            f"| {said['kind']} | {said['batch']} | {said['compiled_over_plain']:.2f} "
            f"({said['least']:.2f} to {said['greatest']:.2f}) "
            f"| {said['cpu_plain_over_compiled']:.2f} "
            f"| {said['plain_ms_per_step']:.1f} "
            f"| {said['plain_first_step_seconds']:.1f} s "
            f"| {said['compiled_first_step_seconds']:.1f} s |"
        )
    return "\n".join(lines) + "\n"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--batches", type=int, nargs="+", default=[128, 4096], metavar="EXAMPLES")
    add("--turns", type=int, default=21, help="turns of each model")
    add("--steps", type=int, default=20, help="steps per turn")
    add("--write", action="store_true", help="write the table to RESULTS.md")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.batches, arguments.turns, arguments.steps = [64], 2, 3
    return arguments


def main() -> None:
    arguments = parse_arguments()
    setup = {
        "turns": arguments.turns,
        "steps_a_turn": arguments.steps,
        "cores": os.cpu_count(),
        "load_average_before": round(os.getloadavg()[0], 2),
        "seed": 0,
        **versions(),
    }
    results = [
        measure(kind, batch, arguments) for kind in KINDS for batch in arguments.batches
    ]
    table = markdown(results)
    print(table)
    if arguments.write:
        note = (
            f"Set-up: CPU, {setup['cores']} cores, load {setup['load_average_before']} "
            f"before, {arguments.turns} turns of "
            f"{arguments.steps} steps, {FEATURES} ids an example, rows of {DIM}; "
            f"tensorflow {setup['tensorflow']}, keras {setup['keras']}."
        )
        write_section("xla_dense", f"{_HEADING}\n\n{table}\n{note}")
    print(json.dumps({"benchmark": "xla_dense", "figures": results, "setup": setup}))


if __name__ == "__main__":
    main()
