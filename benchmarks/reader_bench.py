"""How fast `ptf.data` reads, beside a plain scan by pyarrow.

    PERSIA_TF_DATA=... python benchmarks/reader_bench.py
    PERSIA_TF_DATA=... python benchmarks/reader_bench.py --gib 1 --batch-size 8192
    PERSIA_TF_DATA=... python benchmarks/reader_bench.py --gib 1 --text

A file has the rows of the Criteo sample again and again: a label, 13 counts and 26 ids.
Each way reads it once per turn, in a process of its own, on all cores:

    plain       pyarrow's `ParquetFile.iter_batches`, whose batches are dropped
    plain_rows  the same, a row group at a time: what a reader that shuffles must do
    ordered     `ptf.data.parquet` with no `shuffle_buffer`
    shuffled    the same with a `shuffle_buffer` of a million rows

The batches of `ptf.data` stay in a graph, as they do in `fit`. With --text, the file is
Criteo's own text, and the ways are:

    plain       `pyarrow.csv.open_csv`, whose batches are dropped
    ordered, shuffled   `ptf.data.criteo`

    rows_per_second   the median over the turns
    of_plain          the median ratio to `plain` in the same turn
    peak_mib          the greatest resident memory of a process, less that after its
                      imports

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_GROUP = 1 << 16
_SHUFFLE = 1_000_000
_WAYS = ("plain", "plain_rows", "ordered", "shuffled")
_TEXT_WAYS = ("plain", "ordered", "shuffled")
_TEXT = ".txt"


def write(path: Path, size: int) -> int:
    """Writes a file of at least some bytes; returns its rows."""
    return _write_text(path, size) if path.suffix == _TEXT else _write(path, size)


def _write_text(path: Path, size: int) -> int:
    from accuracy_data import directory_of

    directory = directory_of("criteo", os.environ.get("PERSIA_TF_DATA"))
    text = (Path(directory) / "train.txt").read_bytes()
    copies = -(-size // len(text))
    with path.open("wb") as file:
        for _ in range(copies):
            file.write(text)
    return copies * text.count(b"\n")


def _write(path: Path, size: int) -> int:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from accuracy_data import directory_of, read_criteo

    sample = read_criteo(directory_of("criteo", os.environ.get("PERSIA_TF_DATA")))
    numbers = sample.features["numbers"]
    columns = {"label": sample.labels.astype(np.float32)}
    columns |= {f"I{i + 1}": numbers[:, i] for i in range(numbers.shape[1])}
    columns |= {n: x for n, x in sample.features.items() if n != "numbers"}
    # A row group is not larger than what is written at once.
    table = pa.concat_tables([pa.table(columns)] * (1 + _GROUP // len(sample.labels)))
    rows = 0
    with pq.ParquetWriter(path, table.schema) as writer:
        while not rows or path.stat().st_size < size:
            writer.write_table(table, row_group_size=_GROUP)
            rows += len(table)
    return rows


def read(path: str, way: str, batch_size: int) -> dict[str, float]:
    """Reads a file; returns its rows, the seconds, and the memory."""
    begin = _reader(path, way, batch_size)
    # Makes the kernel forget the peak so far.
    Path("/proc/self/clear_refs").write_text("5")
    before = _kib("VmRSS")
    began = time.perf_counter()
    rows = sum(begin())
    seconds = time.perf_counter() - began
    peak = (_kib("VmHWM") - before) / 1024
    return {"rows": rows, "seconds": seconds, "peak_mib": peak}


def _kib(field: str) -> int:
    """Returns a field of this process's status, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(field)]
    return int(line.split()[1])


def _reader(path: str, way: str, batch_size: int) -> Any:
    """Returns a function that yields the number of rows of each batch."""
    import pyarrow.parquet as pq

    if way == "plain" and path.endswith(_TEXT):
        return lambda: map(len, _open_text(path))
    if way == "plain":
        return lambda: map(len, pq.ParquetFile(path).iter_batches(batch_size))
    if way == "plain_rows":
        file = pq.ParquetFile(path)
        groups = range(file.num_row_groups)
        return lambda: (len(file.read_row_group(group)) for group in groups)
    import persia_tf as ptf

    reader = ptf.data.criteo if path.endswith(_TEXT) else ptf.data.parquet
    dataset = reader(path, batch_size, shuffle_buffer=_SHUFFLE * (way == "shuffled"))
    return lambda: [_count(dataset.prefetch(2))]


def _open_text(path: str) -> Any:
    """Returns the batches of a file, with the columns' types as in `criteo`."""
    import pyarrow as pa
    import pyarrow.csv

    names = ["label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(26))]
    kinds = [pa.float32(), *[pa.int64()] * 13, *[pa.string()] * 26]
    return pa.csv.open_csv(
        path,
        pa.csv.ReadOptions(column_names=names),
        pa.csv.ParseOptions(delimiter="\t"),
        pa.csv.ConvertOptions(column_types=dict(zip(names, kinds))),
    )


def _count(dataset: Any) -> int:
    """Returns the rows of a dataset, whose batches stay in a graph, as in `fit`."""
    import tensorflow as tf

    def add(rows: Any, *batch: Any) -> Any:
        return rows + tf.size(tf.nest.flatten(batch)[0], tf.int64)

    return int(dataset.reduce(tf.zeros([], tf.int64), add))


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Writes a file, and reads it in all ways in each turn."""
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / ("criteo" + (_TEXT if arguments.text else ".parquet"))
        ways = _TEXT_WAYS if arguments.text else _WAYS
        rows = write(path, int(arguments.gib * (1 << 30)))
        size = path.stat().st_size
        runs: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
        for _ in range(arguments.turns):
            for way in ways:
                runs[way].append(_in_process(path, way, arguments.batch_size))
    assert all(run["rows"] == rows for turn in runs.values() for run in turn)
    plain = [run["seconds"] for run in runs["plain"]]
    return {
        "rows": rows,
        "file_bytes": size,
        **{
            way: {
                "rows_per_second": rows
                / statistics.median(run["seconds"] for run in of_way),
                "of_plain": statistics.median(
                    base / run["seconds"] for base, run in zip(plain, of_way)
                ),
                "peak_mib": max(run["peak_mib"] for run in of_way),
            }
            for way, of_way in runs.items()
        },
    }


def _in_process(path: Path, way: str, batch_size: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--read", str(path), way]
    command += ["--batch-size", str(batch_size)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--gib", type=float, default=10.0, help="size of the file (%(default)s)")
    add("--batch-size", type=int, default=4096, help="rows of a batch (%(default)s)")
    add("--turns", type=int, default=3, help="readings of each way (%(default)s)")
    add("--folder", help="where the file is written (the temporary folder)")
    add("--text", action="store_true", help="read Criteo's text, not Parquet")
    add("--read", nargs=2, metavar=("FILE", "WAY"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.gib, arguments.turns = 0.001, 1
    return arguments


def main() -> None:
    arguments = parse_arguments()
    if arguments.read:
        print(json.dumps(read(*arguments.read, arguments.batch_size)))
        return
    figures = compare(arguments)
    for way in _TEXT_WAYS if arguments.text else _WAYS:
        of_way = figures[way]
        print(
            f"{way:11} {of_way['rows_per_second'] / 1e6:6.2f} million rows per second, "
            f"{of_way['of_plain']:5.2f} of plain, {of_way['peak_mib']:7.0f} MiB"
        )
    setup = {
        "batch_size": arguments.batch_size,
        "row_group": _GROUP,
        "turns": arguments.turns,
        "cores": os.cpu_count(),
    }
    print(json.dumps({"benchmark": "reader_bench", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
