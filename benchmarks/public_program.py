"""Runs a third-party program with Keras's embedding layer, and with this library's.

    python benchmarks/public_program.py collaborative_filtering.py
    python benchmarks/public_program.py sas_rec.py --edits edits.py --shards 3

Runs the program twice, each time in a process of its own and from the same seed:
unchanged, and with `keras.layers.Embedding` replaced by a `PersiaEmbedding` without
`optimizer=`, on two shards. Prints the last losses and metrics of each `fit` and
`evaluate`, side by side, and as JSON.

Nothing else in the program is changed, except by `--edits`: a Python file with lists
of texts to replace, of the form `[(old, new), ...]`. `SETUP` applies to both runs.
`EDITS` applies only to the run with this library's layer, for instance where the
program reads `layer.embeddings`.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_LAYERS = ("keras", "persia")
_RESULT = "PERSIA_TF_PUBLIC_PROGRAM_RESULT"


def main() -> None:
    args = _arguments()
    if args.layer:
        _run_here(args)
        return
    runs = {layer: _run(args, layer) for layer in _LAYERS}
    lines = compared(runs["keras"], runs["persia"])
    for name, (own, swapped) in lines.items():
        print(f"{name:40}  {own:12.5f}  {swapped:12.5f}  {_difference(own, swapped)}")
    print(json.dumps({"tables": runs["persia"]["tables"], "figures": lines}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("--edits", type=Path, help="a file with EDITS and SETUP")
    parser.add_argument("--before", type=Path, help="a program that is run first")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layer", choices=_LAYERS, help=argparse.SUPPRESS)
    return parser.parse_args()


def compared(own: dict[str, Any], swapped: dict[str, Any]) -> dict[str, Any]:
    """Pairs the losses and metrics of two runs: those of each call of fit or evaluate.

    Those of a fit are its last epoch's.
    """
    pairs = {}
    for kind in ("fit", "evaluate"):
        for number, (one, other) in enumerate(zip(own[kind], swapped[kind]), 1):
            for name in one.keys() & other.keys():
                pairs[f"{kind} {number}: {name}"] = (one[name], other[name])
    return dict(sorted(pairs.items()))


def edited(program: str, edits: list[tuple[str, str]]) -> str:
    """Replaces texts in a program; each must occur."""
    for old, new in edits:
        if old not in program:
            raise SystemExit(f"the program has no {old!r}")
        program = program.replace(old, new)
    return program


def _difference(own: float, swapped: float) -> str:
    return f"{100 * (swapped / own - 1):+.2f}%" if own else ""


def _run(args: argparse.Namespace, layer: str) -> dict[str, Any]:
    """Runs the program with one of the layers; returns the values that it recorded."""
    launcher = ["-m", "persia_tf", "launch", "--ps", str(args.shards), "--"]
    command = [sys.executable, __file__, *sys.argv[1:], "--layer", layer]
    if layer == "persia":
        command = [sys.executable, *launcher, *command]
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        environment = {**os.environ, _RESULT: str(result)}
        # Output of the program must not mix with the figures on stdout.
        subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
        return json.loads(result.read_text())


def _run_here(args: argparse.Namespace) -> None:
    import persia_tf as ptf
    from persia_tf._keras import keras

    keras.utils.set_random_seed(args.seed)
    seen = {"fit": [], "evaluate": [], "tables": []}
    _watch(keras, seen)
    given = runpy.run_path(str(args.edits)) if args.edits else {}
    edits = list(given.get("SETUP", []))
    if args.layer == "persia":
        _swap_layer(keras, ptf.layers.PersiaEmbedding, seen["tables"])
        edits += given.get("EDITS", [])
    if args.before:
        runpy.run_path(str(args.before))
    program = edited(args.program.read_text(), edits)
    sys.argv = [str(args.program)]
    names = {"__name__": "__main__", "__file__": str(args.program)}
    exec(compile(program, str(args.program), "exec"), names)
    Path(os.environ[_RESULT]).write_text(json.dumps(seen))


def _watch(keras: Any, seen: dict[str, list[Any]]) -> None:
    """Records the last values of each `fit`, and of each `evaluate` outside a `fit`."""
    fit, evaluate = keras.Model.fit, keras.Model.evaluate
    is_within = []

    @functools.wraps(fit)
    def watched_fit(self: Any, *args: Any, **options: Any) -> Any:
        is_within.append(True)
        try:
            history = fit(self, *args, **options)
        finally:
            is_within.pop()
        last = {name: values[-1] for name, values in history.history.items()}
        seen["fit"].append(_numbers(last))
        return history

    @functools.wraps(evaluate)
    def watched_evaluate(self: Any, *args: Any, **options: Any) -> Any:
        found = evaluate(self, *args, **options)
        if not is_within:
            values = found if isinstance(found, (dict, list)) else [found]
            if isinstance(values, list):
                values = dict(zip(self.metrics_names, values))
            seen["evaluate"].append(_numbers(values))
        return found

    keras.Model.fit, keras.Model.evaluate = watched_fit, watched_evaluate


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    import numpy as np

    return {name: float(value) for name, value in values.items() if np.ndim(value) == 0}


def _swap_layer(keras: Any, layer: type, tables: list[str]) -> None:
    """Replaces Keras's own layer by one of this library in Keras's modules."""
    import tensorflow as tf

    numbers = itertools.count(1)

    class Embedding(layer):
        """Accepts the arguments of Keras's layer. Its table's name is a number."""

        def __init__(
            self, input_dim: int, output_dim: int, *args: Any, **options: Any
        ) -> None:
            if args:
                options["embeddings_initializer"] = args[0]
            options.setdefault("table", f"embedding_{next(numbers)}")
            options.pop("input_length", None)
            super().__init__(int(output_dim), **options)
            tables.append(self.table)

    for module in (keras.layers, tf.keras.layers):
        module.Embedding = Embedding


if __name__ == "__main__":
    main()
