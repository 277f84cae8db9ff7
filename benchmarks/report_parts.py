"""The parts of report.py: what each measures, by which command, and what it shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import report_plots
from report_tables import (
    Table,
    accuracy_table,
    limits_table,
    named_figures,
    peers_table,
    planner_table,
    shards_table,
    simulator_table,
    staleness_table,
)


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the report.

    Attributes:
        name: Its name on the command line.
        title: Its heading.
        shows: What PERSIA's paper shows of this, and what is measured here instead.
        command: The benchmark, or `persia`, and its arguments. `{folder}` stands for
            the folder of results, and `{commit}` for the commit. What a part keeps in
            the folder has a name that begins with the part's, and a dot.
        quick: Further arguments for a smoke run.
        whole: Further arguments for any other run.
        table: Makes a table of the benchmark's figures.
        plots: Draws figures; returns SVG, by what it shows.
        reads_data: Whether it reads $PERSIA_TF_DATA, if that names a folder.
        needs_data: Whether it shows nothing without that.
    """

    name: str
    title: str
    shows: str
    command: tuple[str, ...]
    quick: tuple[str, ...]
    table: Callable[[Mapping[str, Any]], Table]
    plots: Callable[[Mapping[str, Any]], Mapping[str, str]] = lambda figures: {}
    whole: tuple[str, ...] = ()
    reads_data: bool = False
    needs_data: bool = False


_THROUGHPUT = {
    "hybrid_over_sync_10ms": "hybrid over synchronous training, shards 10 ms away",
    "hybrid_hides_10ms": "hybrid training with shards 10 ms away, over shards nearby",
    "remote_over_ready": "rows in two shards, over the dense part alone",
    "embedded_over_ready": "rows in the program, over the dense part alone",
    "remote_over_tf_keras": "rows in two shards, over tf_keras's own tables",
    "embedded_over_tf_keras": "rows in the program, over tf_keras's own tables",
}

# Where the part "simulator" writes the constants that the part "paper" reads.
_COSTS = "{folder}/constants.costs.json"

PARTS = (
    Part(
        name="accuracy",
        title="Test AUC: hybrid, synchronous, asynchronous",
        shows=(
            "In the paper, hybrid training reaches the AUC of synchronous training, "
            "and training with asynchronous dense layers does not. Here the same kinds "
            "of training run on public data sets that fit this machine."
        ),
        command=(
            *("accuracy.py", "--runs", "{folder}/accuracy.{commit}.jsonl"),
            *("--seeds", "3"),
            *("--modes", "sync", "hybrid4", "hybrid16", "async4", "async16"),
        ),
        quick=("--quick", "--data-set", "movielens"),
        table=accuracy_table,
        reads_data=True,
        needs_data=True,
    ),
    Part(
        name="throughput",
        title="Samples per second: hybrid, synchronous, and Keras",
        shows=(
            "In the paper, hybrid training is several times as fast as synchronous "
            "training, since it hides the time that requests to the parameter servers "
            "take. Here a click model with the cardinalities of Criteo trains on one "
            "machine. For the first two figures, batches have 512 samples, and the "
            "shards are behind proxies, which delay each direction by 10 ms or, if "
            "shards are nearby, by nothing. For the others, batches have 4096 samples, "
            "and there are no proxies; the dense part alone trains on vectors that are "
            "already in memory. All figures are ratios of samples per second."
        ),
        command=(
            "hybrid_bench.py",
            *(part for name in _THROUGHPUT for part in ("--only", name)),
        ),
        quick=("--quick",),
        table=named_figures(_THROUGHPUT),
        plots=report_plots.throughput,
    ),
    Part(
        name="peers",
        title="Samples per second: other libraries",
        shows=(
            "The paper compares itself with other systems for such models, on many "
            "machines. Here libraries that can be installed as packages train the same "
            "click model, with the same optimizers and batches, in turn on this "
            "machine. The peak "
            "memory is that of all processes of a library; Keras, TensorFlow "
            "Recommenders Addons and PyTorch have one, which holds the rows too."
        ),
        command=("peers.py",),
        quick=("--quick",),
        table=peers_table,
        plots=report_plots.peers,
    ),
    Part(
        name="workers",
        title="Scale: NN workers",
        shows=(
            "The paper scales to 64 GPUs. Here a second worker is added, and each "
            "worker is pinned to one of two cores, which the shards use too."
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
        plots=report_plots.workers,
    ),
    Part(
        name="shards",
        title="Scale: shards",
        shows=(
            "The paper spreads rows over 30 parameter servers. Here shards share two "
            "cores with the trainer, so that more shards cannot be faster; what is "
            "measured is what each further shard costs a step."
        ),
        command=("step_cost.py", "--sweep", "shards"),
        quick=("--quick",),
        table=shards_table,
        plots=report_plots.shards,
    ),
    Part(
        name="staleness",
        title="What staleness costs, by skew",
        shows=(
            "The paper's bound on the cost of stale rows grows with the staleness "
            "times the frequency of the most frequent id. Here each update of a row is "
            "applied exactly as many steps late as the column says. A cell is by how "
            "much the test loss is above that of the same seed without staleness, "
            "times 1000."
        ),
        command=("staleness_skew.py", "--runs", "{folder}/staleness.{commit}.jsonl"),
        quick=("--quick",),
        table=staleness_table,
        plots=report_plots.staleness,
        reads_data=True,
    ),
    Part(
        name="failover",
        title="Faults: a shard is lost with its folder",
        shows=(
            "In the paper, a parameter server that fails is recovered from memory. "
            "Here a shard that has a standby is killed, and its recovery folder "
            "removed, while a model trains. The shards run with `--acknowledge "
            "standby`; with `--acknowledge self`, the default, "
            "[the last updates may be lost]"
            "(standbys.md#what-an-acknowledged-update-survives)."
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
    Part(
        name="planner",
        title="Planner: predictions against measurement",
        shows=(
            "`ptf.plan` predicts what a run will need. Here set-ups are planned from "
            "the first 20% of their steps, and then trained to the end. How far a plan "
            "is off is its figure over the measured one, less 1, without its sign. "
            "[planning.md](planning.md) has all set-ups."
        ),
        command=("plan_check.py",),
        quick=("--quick",),
        whole=("--write",),
        table=planner_table,
        reads_data=True,
    ),
    Part(
        name="simulator",
        title="Simulator: predictions against measurement",
        shows=(
            "Predicted / measured, and how far the prediction is off, from what pieces "
            "of work take on this machine as it is now. The client or "
            "training program, the shards and the proxies share the cores of this "
            "machine. Rates are of calls or of steps. [simulation.md](simulation.md) "
            "says how the simulator works."
        ),
        command=(
            *("simulate_check.py", "--measure", "--output", _COSTS),
            *("--calls", "{folder}/simulator.calls.json"),
        ),
        quick=("--quick",),
        whole=("--write",),
        table=simulator_table,
        plots=report_plots.simulator,
    ),
    Part(
        name="paper",
        title="Simulator: 100 trillion parameters, and what breaks first",
        shows=(
            "The paper trains 100 trillion parameters. Here 30 shards of 12 TB and 64 "
            "GPUs are simulated, from what work takes on this machine; what the paper "
            "does not say is assumed. The headroom is a limit over its number: below "
            "1, the set-up fails, or is slower. "
            "[simulation.md](simulation.md#persias-set-up-worked-through) says what "
            "follows."
        ),
        command=(
            *("persia", "simulate", "--example", "paper", "--steps", "6"),
            *("--costs", _COSTS, "--json", "-"),
        ),
        quick=(),
        table=limits_table,
    ),
)


def chosen(names: Iterable[str] | None) -> list[Part]:
    """Returns the parts with these names, or all of them."""
    return [part for part in PARTS if names is None or part.name in names]


def figures_of(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the figures of a benchmark's result; all of that of another program."""
    return result.get("figures", result)
