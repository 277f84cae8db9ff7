"""The bytes that leave a worker's machine in a step, encoded and as they are.

    python benchmarks/encoded_bytes.py
    python benchmarks/encoded_bytes.py --keep 0.01 --values float32

Two workers train wide dense layers, each on a machine of its own: a network namespace
(needs root). The kernel counts what each machine's interface sends, with all headers,
over a number of steps after the first ones, which are exact. The sides differ in what
is exchanged:

    gradients    no layer is divided: the sums of gradients
    activations  all wide layers are divided: activations and their gradients
    nothing      a model of two weights: what TensorFlow itself sends

The figures of each side, per step, mean of the two machines:

    kb             kilobytes sent with float32
    encoded_kb     the same with `Threshold`
    ratio          one over the other, with all that TensorFlow sends beside

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys

from network_workers import run_workers

_WORKERS = 2
_OF_WORKERS = ("width", "layers", "batch", "steps", "keep", "values")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--mbit", type=int, default=1000, help="per second (%(default)s)")
    add("--width", type=int, default=1024, help="of the layers (%(default)s)")
    add("--layers", type=int, default=3, help="how many (%(default)s)")
    add("--batch", type=int, default=128, help="examples per worker (%(default)s)")
    add("--steps", type=int, default=30, help="that are counted (%(default)s)")
    add("--keep", type=float, default=0.02, help="of `Threshold` (%(default)s)")
    add("--values", default="float16", help="of `Threshold` (%(default)s)")
    add("--quick", action="store_true", help="only a smoke test")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.width, arguments.layers, arguments.steps = 128, 1, 2
    return arguments


def main() -> None:
    arguments = parse_arguments()
    figures: dict[str, float] = {"nothing_kb": kilobytes("nothing", False, arguments)}
    for side in ("gradients", "activations"):
        sent = kilobytes(side, False, arguments)
        encoded = kilobytes(side, True, arguments)
        figures[f"{side}_kb"] = sent
        figures[f"{side}_encoded_kb"] = encoded
        figures[f"{side}_ratio"] = sent / encoded
    for name, figure in figures.items():
        print(f"{name:24} {figure:12.3f}")
    setup = {**vars(arguments), "workers": _WORKERS}
    said = {"benchmark": "encoded_bytes", "figures": figures, "setup": setup}
    print(json.dumps(said))


def kilobytes(side: str, encoded: bool, arguments: argparse.Namespace) -> float:
    """Trains on one side; returns the kilobytes that a machine sends in a step."""
    options = ["--side", side, *["--encoded"] * encoded]
    for name in _OF_WORKERS:
        options += [f"--{name}", str(getattr(arguments, name))]
    said = run_workers("encoded_bytes_worker.py", options, _WORKERS, arguments.mbit)
    print(f"{side}, encoded={encoded}: {said}", file=sys.stderr, flush=True)
    return statistics.mean(of["bytes"] for of in said) / 1e3


if __name__ == "__main__":
    main()
