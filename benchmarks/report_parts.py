"""The parts of report.py: what each measures, by which command, and its table."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from accuracy_training import MODES
from staleness_report import names_of

Table = list[Sequence[str]]  # Its header, and its rows.


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the report.

    Attributes:
        name: Its name on the command line.
        title: Its heading.
        shows: What PERSIA's paper shows of this, and what is measured here instead.
        command: The benchmark and its arguments.
        quick: Further arguments for a smoke run.
        table: Makes a table of the benchmark's figures.
        needs_data: Whether it reads $PERSIA_TF_DATA.
    """

    name: str
    title: str
    shows: str
    command: tuple[str, ...]
    quick: tuple[str, ...]
    table: Callable[[Mapping[str, Any]], Table]
    needs_data: bool = False


def accuracy_table(figures: Mapping[str, Any]) -> Table:
    """Returns a row for each data set and kind of training."""
    rows: Table = [("data", "training", "test AUC", "less synchronous", "seeds")]
    for data_set, modes in figures.items():
        for mode, found in modes.items():
            aucs = found["auc_of_each_seed"]
            less = "" if mode == "sync" else f"{found['minus_sync']:+.4f}"
            title = MODES[mode].title
            rows.append((data_set, title, _with_deviation(aucs), less, str(len(aucs))))
    return rows


def named_figures(names: Mapping[str, str]) -> Callable[[Mapping[str, Any]], Table]:
    """Returns a function that makes a table of some figures.

    Args:
        names: For each figure, in the order of the table, what it is.
    """

    def table(figures: Mapping[str, Any]) -> Table:
        shown = ((what, figures[name]) for name, what in names.items())
        return [
            ("figure", "here"),
            *((what, f"{float(value):.3g}") for what, value in shown),
        ]

    return table


def shards_table(figures: Mapping[str, Any]) -> Table:
    """Returns what a step costs with each number of shards."""
    rows: Table = [("shards", "ms per step", "MB per step", "lookup requests per step")]
    points = figures.get("shards") or next(iter(figures.values()))
    for point in points:
        traffic = point["bytes_out_per_step"] + point["bytes_in_per_step"]
        rows.append(
            (
                str(point["shards"]),
                f"{point['ms_per_step']:.1f}",
                f"{traffic / 1e6:.2f}",
                f"{point['lookup_requests_per_step']:.1f}",
            )
        )
    return rows


def staleness_table(figures: Mapping[str, Any]) -> Table:
    """Returns what each staleness costs, with a row for each skew of ids."""
    staleness = sorted({s for group in figures["groups"] for s in _costs(group)})
    header = ("data", "skew", "rows by", *(f"{steps} steps" for steps in staleness))
    rows: Table = [header]
    for group in figures["groups"]:
        costs = _costs(group)
        rows.append((*names_of(group), *(costs.get(steps, "") for steps in staleness)))
    return rows


def peers_table(figures: Mapping[str, Any]) -> Table:
    """Returns a row for each library: its speed and memory, or why there are none."""
    measured = ("samples/s over ours", "CPU µs a sample", "peak memory, GB")
    rows: Table = [("library", *measured, "versions")]
    for of_side in figures.values():
        if "reason" in of_side:
            # A row of a table is one line, whose cells are between bars.
            reason = " ".join(of_side["reason"].split()).replace("|", "/")
            why = f"could not be shown here: {reason}"
            rows.append((of_side["title"], why, "", "", ""))
            continue
        over = of_side.get("over_persia")
        versions = of_side["versions"].items()
        rows.append(
            (
                of_side["title"],
                "" if over is None else f"{over:.2f}",
                f"{of_side['cpu_us_per_sample']:.1f}",
                f"{of_side['peak_memory_mb'] / 1024:.1f}",
                ", ".join(" ".join(version) for version in versions),
            )
        )
    return rows


def _costs(group: Mapping[str, Any]) -> dict[int, str]:
    return {
        cost["staleness"]: f"{1000 * cost['loss']['mean']:+.2f}"
        for cost in group["costs"]
    }


def _with_deviation(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.4f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.4f}"


_THROUGHPUT = {
    "hybrid_over_sync_10ms": "hybrid over synchronous training, shards 10 ms away",
    "hybrid_hides_10ms": "hybrid training with shards 10 ms away, over shards nearby",
    "remote_over_ready": "rows in two shards, over a dense part with ready vectors",
    "embedded_over_ready": "rows in the program, over the same",
    "remote_over_tf_keras": "rows in two shards, over tf_keras's own tables",
    "embedded_over_tf_keras": "rows in the program, over tf_keras's own tables",
}

PARTS = (
    Part(
        name="accuracy",
        title="Test AUC: hybrid, synchronous, asynchronous",
        shows=(
            "The paper trains to the same AUC as synchronous training, and loses with "
            "asynchronous dense layers. Here the same kinds of training run on public "
            "data sets that fit this machine."
        ),
        command=("accuracy.py",),
        quick=("--quick", "--data-set", "movielens"),
        table=accuracy_table,
        needs_data=True,
    ),
    Part(
        name="throughput",
        title="Samples per second: hybrid, synchronous, and Keras",
        shows=(
            "The paper's hybrid training is several times as fast as synchronous "
            "training, since it hides the way to the parameter servers. Here a click "
            "model with the cardinalities of Criteo trains on one machine, with shards "
            "behind proxies that delay each direction by 10 ms. All figures are "
            "ratios of samples per second."
        ),
        command=(
            "hybrid_bench.py",
            *(part for name in _THROUGHPUT for part in ("--only", name)),
        ),
        quick=("--quick",),
        table=named_figures(_THROUGHPUT),
    ),
    Part(
        name="peers",
        title="Samples per second: other libraries",
        shows=(
            "The paper compares with other systems for such models, on many machines. "
            "Here libraries that can be had as packages train the same click model, "
            "with the same optimizers and batches, in turn on this machine. The peak "
            "memory is that of all processes of a library; Keras, TensorFlow "
            "Recommenders Addons and PyTorch have one, which holds the rows too."
        ),
        command=("peers.py",),
        quick=("--quick",),
        table=peers_table,
    ),
    Part(
        name="workers",
        title="Scale: NN workers",
        shows=(
            "The paper scales to 64 GPUs. Here a second worker is added, each pinned "
            "to one of two cores, which the shards use too."
        ),
        command=("worker_scaling.py",),
        quick=("--quick",),
        table=named_figures(
            {
                "two_workers_over_one": "samples per second of two workers, over one",
                "two_workers_over_one_least": "the least of all turns",
                "two_workers_over_one_most": "the most of all turns",
            }
        ),
    ),
    Part(
        name="shards",
        title="Scale: shards",
        shows=(
            "The paper spreads rows over 30 parameter servers. Here shards share two "
            "cores with the trainer, so that more shards cannot be faster; what is "
            "measured is what each further shard costs a step."
        ),
        command=("step_cost.py",),
        quick=("--quick",),
        table=shards_table,
    ),
    Part(
        name="staleness",
        title="What staleness costs, by skew",
        shows=(
            "The paper bounds what stale rows cost by staleness times how frequent an "
            "id is. Here rows are late by exactly so many steps; the cost is test "
            "loss, in thousandths, over that of the same seed without staleness."
        ),
        command=("staleness_skew.py",),
        quick=("--quick",),
        table=staleness_table,
    ),
    Part(
        name="failover",
        title="Faults: a shard is lost with its folder",
        shows=(
            "The paper recovers a parameter server in memory. Here a shard with a "
            "standby is killed, and its recovery folder removed, while a model trains."
        ),
        command=("failover_bench.py",),
        quick=("--quick",),
        table=named_figures(
            {
                "kills": "kills",
                "fit_failures": "times that `fit` failed",
                "lost_updates": "updates that were lost",
                "seconds_to_go_on_median": "seconds until training went on, median",
                "seconds_to_go_on_max": "seconds until training went on, at most",
            }
        ),
    ),
)


def chosen(names: Iterable[str] | None) -> list[Part]:
    """Returns the parts with these names, or all of them."""
    return [part for part in PARTS if names is None or part.name in names]
