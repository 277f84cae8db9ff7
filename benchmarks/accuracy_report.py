"""The table and the plot of accuracy.py."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from results_file import RESULTS, write_section

PLOT = RESULTS.parent / "results" / "accuracy.svg"
_MARKS = "osd^v<>p"
# In the lower plots, the largest difference that is marked as close, and the largest
# that is shown.
_CLOSE, _SHOWN_DIFFERENCE = 0.001, 0.003
_HEADING = "## Accuracy"
_FIGURES_HEAD = """\
| data | training | staleness, mean (most) | test AUC | over synchronous |
|---|---|---|---|---|"""
_DATA_HEAD = """\
| data | training rows | test rows | rows a step | steps | seeds |
|---|---|---|---|---|---|"""
_EXPLANATION = """\
`PERSIA_TF_DATA=... python benchmarks/accuracy.py --write`: test AUC after training, the
mean over seeds ± their standard deviation. A seed determines the initial weights, the
order of rows and the split, except for Adult, which its publisher splits. "Over
synchronous" compares each seed with itself: the mean difference ± its standard error,
and the least and the greatest.

Staleness is how many earlier steps were missing from a step's rows. Asynchronous dense
training trains rows like hybrid training with the same staleness. One program applies
each dense gradient that many steps after it was computed: this has the delay of
asynchronous workers, but not their number. All learning rates are those of synchronous
training; none was tuned for a delay.

The plot shows the means as training goes on: test AUC, and below it the difference from
synchronous training, grey where it is within 0.001 (differences beyond 0.003 are not
shown)."""
Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]


def write(
    figures: Figures, setup: Mapping[str, Any], titles: Mapping[str, str]
) -> None:
    """Writes the section of RESULTS.md, and its plot.

    Args:
        figures: The figures by data set and mode.
        setup: How they were measured.
        titles: The titles of the modes.
    """
    plot(figures, titles)
    write_section("accuracy", text(figures, setup, titles))


def text(figures: Figures, setup: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Returns the section."""
    rows = [
        _figures_row(name, titles[mode], mode, modes[mode])
        for name, modes in figures.items()
        for mode in titles
    ]
    data = [_data_row(name, modes["sync"]) for name, modes in figures.items()]
    parts = [
        _HEADING,
        _EXPLANATION,
        "\n".join([_FIGURES_HEAD, *rows]),
        f"![Test AUC as training goes on]({PLOT.relative_to(RESULTS.parent)})",
        _setup(setup),
        "\n".join([_DATA_HEAD, *data]),
    ]
    return "\n\n".join(parts)


def _figures_row(name: str, title: str, mode: str, of_mode: Mapping[str, Any]) -> str:
    differences = of_mode["minus_sync_of_each_seed"]
    over = f"{of_mode['minus_sync']:+.4f}{_standard_error(differences)} "
    over += f"({min(differences):+.4f} to {max(differences):+.4f})"
    return (
        f"| {name} | {title} "
        f"| {of_mode['staleness_mean']:.1f} ({of_mode['staleness_max']}) "
        f"| {of_mode['auc']:.4f}{_deviation(of_mode['auc_of_each_seed'])} "
        f"| {'' if mode == 'sync' else over} |"
    )


def _deviation(values: Sequence[float]) -> str:
    return f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""


def _standard_error(values: Sequence[float]) -> str:
    if len(values) < 2:
        return ""
    return f" ± {statistics.stdev(values) / math.sqrt(len(values)):.4f}"


def _setup(setup: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {v}" for name, v in setup["versions"].items())
    return (
        f"Set-up: rows in {setup['shards']} shards, which are "
        f"{setup['delay_ms']:g} ms away each way unless training is synchronous; "
        f"Adagrad for rows and dense weights; {versions}."
    )


def _data_row(name: str, of_mode: Mapping[str, Any]) -> str:
    facts = [*of_mode["rows"], of_mode["batch"], of_mode["steps"]]
    facts.append(len(of_mode["auc_of_each_seed"]))
    return f"| {name} | {' | '.join(map(str, facts))} |"


def plot(figures: Figures, titles: Mapping[str, str]) -> None:
    """Plots test AUC over steps; below, the difference from synchronous training."""
    from matplotlib import pyplot  # Imported late: other benchmarks do not need it.

    pyplot.switch_backend("Agg")
    # Makes the file reproducible, and keeps text as text.
    pyplot.rcParams.update({"svg.hashsalt": "accuracy", "svg.fonttype": "none"})
    size = (3.6 * len(figures), 5.4)
    canvas, panels = pyplot.subplots(2, len(figures), figsize=size, squeeze=False)
    for (above, below), (name, modes) in zip(panels.T, figures.items()):
        above.set_title(name)
        below.set_xlabel("steps")
        below.axhspan(-_CLOSE, _CLOSE, color="0.9")
        below.set_ylim(-_SHOWN_DIFFERENCE, _SHOWN_DIFFERENCE)
        reference = modes["sync"]["curve"]
        for mark, mode in zip(_MARKS, titles):
            curve = modes[mode]["curve"]
            parts = range(1, len(curve) + 1)
            steps = [modes[mode]["steps"] * part / len(curve) for part in parts]
            above.plot(steps, curve, marker=mark, markersize=4)
            over = [auc - other for auc, other in zip(curve, reference)]
            below.plot(steps, over, marker=mark, markersize=4)
    panels[0][0].set_ylabel("test AUC")
    panels[1][0].set_ylabel("over synchronous")
    canvas.legend(panels[0][0].lines, titles.values(), loc="lower center", ncols=3)
    canvas.tight_layout(rect=(0, 0.1, 1, 1))
    PLOT.parent.mkdir(exist_ok=True)
    canvas.savefig(PLOT, metadata={"Date": None})
