"""Samples per second of one training program on the click model.

    python benchmarks/train_throughput.py --embedding persia-remote
    python benchmarks/train_throughput.py --embedding persia-remote --delay-ms 10 \\
      --staleness 0 --no-prefetch  # Synchronous, with a distance to the shards.

`tf_keras` runs with TF_USE_LEGACY_KERAS=1, whatever the environment says. `none` trains
the same dense part on vectors that are ready, without embeddings; `ready` also computes
the gradient of these vectors, as any training of embeddings must. The last line is one
JSON object. Compare figures of several runs only as ratios of runs that were
taken in turn on one machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Iterator

EMBEDDINGS = (
    *("persia-embedded", "persia-remote", "keras3", "tf_keras"),
    *("none", "ready"),
)
WARM_UP_STEPS = 20
# Of `none` and `ready`, whose batches are large: 7 MB each.
VECTOR_BATCHES = 20


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--embedding", choices=EMBEDDINGS, required=True)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument(
        "--batches",
        type=int,
        help="batches in memory, cycled (200; 20 with --quick, none or ready)",
    )
    parser.add_argument("--rows", type=int, help="ids of all features (10,000,000)")
    parser.add_argument("--windows", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=6.0, help="seconds per window")
    parser.add_argument(
        "--layers",
        choices=("joined", "separate", "columns"),
        default="joined",
        help="one PersiaEmbeddings for all features, one PersiaEmbedding per feature, "
        "or one PersiaEmbedding and table for the ids of all features (%(default)s)",
    )
    parser.add_argument("--shards", type=int, default=2, help="shards of persia-remote")
    parser.add_argument(
        "--staleness", type=int, default=4, help="steps; 0: synchronous (%(default)s)"
    )
    parser.add_argument(
        "--no-prefetch", action="store_true", help="look rows up in the step itself"
    )
    parser.add_argument(
        "--delay-ms",
        type=float,
        help="reach the shards through proxies that delay each direction; 0: proxies "
        "without a delay (without the option, no proxies)",
    )
    parser.add_argument("--wire-dtype", default="float32", help="dtype on the wire")
    parser.add_argument("--quick", action="store_true", help="only a smoke test")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.windows, arguments.seconds = 2, 0.5
    if arguments.batches is None:
        is_short = arguments.quick or arguments.embedding in ("none", "ready")
        arguments.batches = VECTOR_BATCHES if is_short else 200
    return arguments


def main() -> None:
    arguments = parse_arguments()
    if arguments.embedding == "tf_keras":
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
    else:
        os.environ.pop("TF_USE_LEGACY_KERAS", None)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    with external_shards(arguments) as pids:
        figures, setup = run(arguments, pids)
    report(arguments, figures, setup)


@contextlib.contextmanager
def external_shards(arguments: argparse.Namespace) -> Iterator[list[int]]:
    """Starts shards for `persia-remote` and names them in the environment.

    Args:
        arguments: The command line's options.

    Yields:
        The process ids of the shards.
    """
    if arguments.embedding != "persia-remote":
        yield []
        return
    from shard_processes import running_proxies, running_shards

    with running_shards(arguments.shards) as shards:
        with running_proxies(shards, arguments.delay_ms) as addresses:
            os.environ["PERSIA_PS"] = ",".join(addresses)
            yield [shard.pid for shard in shards]


def run(
    arguments: argparse.Namespace, pids: list[int]
) -> tuple[dict[str, float], dict[str, object]]:
    """Trains for all windows; returns the figures and the setup."""
    import tensorflow as tf
    import w1_model
    import workload_w1
    from processes import cpu_seconds, peak_memory_mb

    import persia_tf as ptf

    is_persia = arguments.embedding.startswith("persia")
    has_embeddings = arguments.embedding not in ("none", "ready")
    rows = arguments.rows or workload_w1.TOTAL_ROWS
    data = workload_w1.load(arguments.batches, arguments.batch, rows)
    sizes = workload_w1.vocabularies(rows)
    if not has_embeddings:
        first = data.vectors()
    else:
        first = data.ids() if is_persia else data.indices()
    # One slice per batch, so that the cost of an input pipeline is not measured.
    dataset = tf.data.Dataset.from_tensor_slices(((first, data.dense), data.labels))
    dataset = dataset.repeat()
    if is_persia:
        make = w1_model.PERSIA_MODELS[arguments.layers]
        model = make(sizes, w1_model.cluster(arguments))
        if not arguments.no_prefetch:
            dataset = ptf.data.prefetch(dataset, model, staleness=arguments.staleness)
    elif has_embeddings:
        model = w1_model.make_keras(sizes)
    else:
        model = w1_model.make_dense_only(arguments.embedding == "ready")
    windows = w1_model.Windows(
        arguments.windows, arguments.seconds, WARM_UP_STEPS, [os.getpid(), *pids]
    )
    losses = w1_model.LossesOfFit(are_means=is_persia or not has_embeddings)
    cpu = {pid: cpu_seconds(pid) for pid in [os.getpid(), *pids]}
    begin = time.monotonic()
    model.fit(
        dataset,
        steps_per_epoch=10**9,
        epochs=1,
        verbose=0,
        callbacks=[windows, losses],
    )
    wall = time.monotonic() - begin
    used = sum(cpu_seconds(pid) - before for pid, before in cpu.items())
    rates = [steps * arguments.batch / seconds for steps, seconds in windows.measured]
    figures = {
        "samples_per_second": statistics.median(rates),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cpus_used": used / wall,
        "cpu_seconds": windows.steps.cpu_seconds,
        "program_cpu_ms_per_step": 1e3 * windows.steps.own_cpu_seconds_per_step(),
        "cpu_us_per_sample": windows.steps.cpu_us_per_sample(arguments.batch),
        **losses.losses.figures(),
    }
    if is_persia:
        ptf.flush()  # Otherwise updates would be under way when the shards end.
        # Includes the warm-up: the bytes of a step do not depend on its speed.
        figures.update(w1_model.traffic(windows.total_steps))
    for index, pid in enumerate(pids):
        figures[f"peak_memory_mb_shard_{index}"] = peak_memory_mb(pid)
    setup = {
        "embedding": arguments.embedding,
        "layers": arguments.layers,
        "batch": arguments.batch,
        "shards": len(pids),
        "staleness": arguments.staleness,
        "prefetch": not arguments.no_prefetch,
        "delay_ms": arguments.delay_ms,
        "wire_dtype": arguments.wire_dtype,
        "vocabulary": rows,
        "batches": arguments.batches,
        "windows": rates,
        "seconds_a_window": arguments.seconds,
        "cores": os.cpu_count(),
        "seed": 0,
        **w1_model.versions(),
    }
    if arguments.embedding == "tf_keras":
        setup["tf_keras"] = setup.pop("keras")
    return figures, setup


def report(
    arguments: argparse.Namespace,
    figures: dict[str, float],
    setup: dict[str, object],
) -> None:
    print(f"{arguments.embedding}: {figures['samples_per_second']:,.0f} samples/s")
    result = {"benchmark": "train_throughput", "figures": figures, "setup": setup}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
