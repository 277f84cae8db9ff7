"""What data workers give, beside the same pipeline in the program that trains.

    PERSIA_TF_DATA=... python benchmarks/data_service_bench.py
    PERSIA_TF_DATA=... python benchmarks/data_service_bench.py --workers 1 2 3
    PERSIA_TF_DATA=... python benchmarks/data_service_bench.py --train \
        --program-share 0.6 --share 0.1 --workers 1 2 3 --warm-up 30 --seconds 60

The pipeline reads the text of the Criteo sample, again and again, hashes its 26 strings
of an ad to ids, and takes the logarithms of its counts. Its batches are dropped. Each
process that reads gets `--share` of a core (control groups; needs root), so that
several of them fit on this machine; the program beside them is not limited.

    batches_per_second   by the program alone, or with so many data workers
    per_core             batches per second with data workers, over those of as many
                         cores in the program: the target is 0.9
    program_ms           processor time of the program per batch
    worker_ms            processor time of all data workers per batch

With `--train`, a click model trains on the batches with two shards, and `program_ms` is
the processor time of the program that trains, per step. With `--program-share`, the
program is limited too, and

    program_busy         how much of its share the program uses: batches per second grow
                         with the data workers until it is 1

Data workers read units of some MiB each, and the program takes these in order. So how
several workers are faster than one shows after the first units: give `--warm-up` the
seconds that a worker takes for a unit, and `--seconds` several times as many.

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import limited_cpu
from processes import cpu_seconds
from shard_processes import running_shards

_HERE = Path(__file__).resolve()
_DATA = (sys.executable, "-m", "persia_tf.commands.main", "data")
_WARM_UP = 30
_DIM = 16


def write(path: Path, size: int) -> None:
    """Writes the text of the Criteo sample again and again."""
    from accuracy_data import DATA_SETS, directory_of

    folder = directory_of("criteo", os.environ.get("PERSIA_TF_DATA"))
    text = b"".join(
        (folder / name).read_bytes() for name in DATA_SETS["criteo"].source.files
    )
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(text)


def prepare(ad: Any, clicked: Any) -> Any:
    """Turns an ad's strings into ids, and its counts into logarithms."""
    import tensorflow as tf

    ids = [tf.strings.to_hash_bucket_fast(ad[f"C{i}"], 1 << 40) for i in range(1, 27)]
    counts = [tf.cast(tf.maximum(ad[f"I{i}"], 0), tf.float32) for i in range(1, 14)]
    return (tf.stack(ids, 1), tf.math.log1p(tf.stack(counts, 1))), clicked


def read(arguments: argparse.Namespace) -> dict[str, float]:
    """Reads for some seconds, as the parent process told; returns the figures."""
    import tensorflow as tf

    import persia_tf as ptf

    train = ptf.data.criteo(arguments.read, arguments.batch_size)
    if arguments.address:
        train = ptf.data.service(train, prepare, address=arguments.address)
    else:
        train = train.map(prepare)
    # Each epoch begins anew, which is no part of the steady state.
    train = train.repeat() if not arguments.train else train
    step = _step(train, arguments) if arguments.train else None
    if step is None:
        batches = iter(train.prefetch(2))
        step = lambda: next(batches)  # noqa: E731
    _warm_up(step, arguments.warm_up)
    pids = [os.getpid(), *arguments.pids]
    used = [cpu_seconds(pid) for pid in pids]
    began, count = time.monotonic(), 0
    while time.monotonic() < began + arguments.seconds:
        step()
        count += 1
    seconds = time.monotonic() - began
    used = [cpu_seconds(pid) - before for pid, before in zip(pids, used)]
    del tf
    figures = {
        "batches_per_second": count / seconds,
        "program_ms": 1000 * used[0] / count,
        "worker_ms": 1000 * sum(used[1:]) / count,
    }
    if arguments.program_share:
        figures["program_busy"] = used[0] / seconds / arguments.program_share
    return figures


def _warm_up(step: Callable[[], Any], seconds: float) -> None:
    """Makes steps until the functions are made, and for some seconds."""
    until = time.monotonic() + seconds
    for _ in range(_WARM_UP):
        step()
    while time.monotonic() < until:
        step()


def _step(train: Any, arguments: argparse.Namespace) -> Any:
    """Returns a function that trains a step."""
    import persia_tf as ptf
    from persia_tf._keras import keras

    cluster = ptf.Cluster(arguments.shards.split(","))
    ids = keras.Input((26,), dtype="int64")
    counts = keras.Input((13,))
    vectors = ptf.layers.PersiaEmbedding(_DIM, table="ads", cluster=cluster)(ids)
    x = keras.layers.Concatenate()([keras.layers.Flatten()(vectors), counts])
    x = keras.layers.Dense(64, "relu")(x)
    model = keras.Model([ids, counts], keras.layers.Dense(1)(x))
    model.compile("sgd", keras.losses.BinaryCrossentropy(from_logits=True))
    batches = iter(ptf.data.prefetch(train.repeat(), model))
    function = model.make_train_function() or model.train_function
    return lambda: function(batches)


@contextlib.contextmanager
def data_workers(count: int, share: float, folder: Path) -> Iterator[tuple[str, list]]:
    """Runs a dispatcher and workers; yields its address, and the workers' ids."""
    with contextlib.ExitStack() as stack:
        port = _start(stack, [*_DATA, "dispatcher"], folder / "dispatcher", None)
        pids = []
        for number in range(count):
            group = stack.enter_context(limited_cpu.limited(share))
            command = [*_DATA, "worker", f"--dispatcher=127.0.0.1:{port}"]
            pids.append(_start(stack, command, folder / f"w{number}", group, True))
        yield f"127.0.0.1:{port}", pids


def _start(
    stack: contextlib.ExitStack,
    command: list[str],
    folder: Path,
    group: Path | None,
    wants_pid: bool = False,
) -> int:
    """Starts a program that writes its port to a file; returns its id, or its port."""
    folder.mkdir(parents=True)
    port_file = folder / "port"
    process = subprocess.Popen(
        [*command, "--port=0", f"--port-file={port_file}", "--log-level=warning"]
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    give_up = time.monotonic() + 60
    while not port_file.exists() or not port_file.read_text().strip():
        if process.poll() is not None or time.monotonic() > give_up:
            raise SystemExit(f"{' '.join(command)} did not start")
        time.sleep(0.05)
    if group is not None:
        # Only now: it would take long to start.
        (group / "cgroup.procs").write_text(str(process.pid))
    return process.pid if wants_pid else int(port_file.read_text())


def measure(
    path: Path, workers: int, arguments: argparse.Namespace, shards: str = ""
) -> dict[str, float]:
    """Reads with some data workers, or in the program alone; returns the figures."""
    command = [sys.executable, str(_HERE), f"--read={path}"]
    command += [f"--batch-size={arguments.batch_size}"]
    command += [f"--seconds={arguments.seconds}", f"--shards={shards}"]
    command += [f"--warm-up={arguments.warm_up}"]
    command += ["--train"] if shards else []
    command += [f"--program-share={arguments.program_share}"]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        own = arguments.program_share
        share = 1.0 if shards and not own else arguments.share
        if workers:
            address, pids = stack.enter_context(data_workers(workers, share, folder))
            command += [f"--address={address}", "--pids", *map(str, pids)]
        group = None
        if own or not (workers or shards):
            group = stack.enter_context(limited_cpu.limited(own or share))

        def join() -> None:
            if group is not None:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        output = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=join
        ).stdout
    return json.loads(output.splitlines()[-1])


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measures each set-up in each turn; returns medians over the turns."""
    runs: dict[str, list[dict[str, float]]] = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = folder / "criteo.txt"
        write(path, int(arguments.mib * (1 << 20)))
        shards = ""
        if arguments.train:
            running = stack.enter_context(running_shards(2))
            shards = ",".join(shard.address for shard in running)
        for _ in range(arguments.turns):
            base = measure(path, 0, arguments, shards)
            runs.setdefault("program", []).append(base)
            for workers in arguments.workers:
                with_workers = measure(path, workers, arguments, shards)
                if not arguments.train:
                    with_workers["per_core"] = (
                        with_workers["batches_per_second"]
                        / base["batches_per_second"]
                        / workers
                    )
                name = f"{workers} data workers"
                runs.setdefault(name, []).append(with_workers)
    return {
        name: {
            figure: statistics.median(run[figure] for run in of_name)
            for figure in of_name[0]
        }
        for name, of_name in runs.items()
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--train", action="store_true", help="train a click model on the batches")
    add("--workers", type=int, nargs="+", default=[1, 2, 3], help="(%(default)s)")
    add("--share", type=float, default=0.25, help="of a core (%(default)s)")
    add("--program-share", type=float, default=0.0, help="of a core; 0: all")
    add("--batch-size", type=int, default=1024, help="rows of a batch (%(default)s)")
    add("--mib", type=float, default=512.0, help="size of the file (%(default)s)")
    add("--seconds", type=float, default=20.0, help="of each way (%(default)s)")
    add("--warm-up", type=float, default=0.0, help="seconds before (%(default)s)")
    add("--turns", type=int, default=3, help="measurements (%(default)s)")
    for name in ("--read", "--address", "--shards"):
        add(name, default="", help=argparse.SUPPRESS)
    add("--pids", type=int, nargs="*", default=[], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.mib, arguments.turns, arguments.workers = 1, 1, [1]
        arguments.seconds, arguments.batch_size = 1.0, 128
    return arguments


def main() -> None:
    arguments = parse_arguments()
    if arguments.read:
        print(json.dumps(read(arguments)))
        return
    figures = compare(arguments)
    for name, of_name in figures.items():
        shown = ", ".join(f"{key} {value:.2f}" for key, value in of_name.items())
        print(f"{name}: {shown}")
    setup = {
        name: getattr(arguments, name)
        for name in (
            *("train", "share", "program_share", "batch_size", "mib", "seconds"),
            *("warm_up", "turns"),
        )
    }
    setup["cores"] = os.cpu_count()
    print(
        json.dumps(
            {"benchmark": "data_service_bench", "figures": figures, "setup": setup}
        )
    )


if __name__ == "__main__":
    main()
