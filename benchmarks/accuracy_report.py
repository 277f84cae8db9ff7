"""The table and the plot of accuracy.py."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from results_file import RESULTS, write_section

PLOT = RESULTS.parent / "results" / "accuracy.svg"
_MARKS = "osd^v"
_HEADING = "## Accuracy"
_FIGURES_HEAD = """\
| data | training | staleness met, mean (most) | test AUC | over synchronous |
|---|---|---|---|---|"""
_DATA_HEAD = """\
| data | training rows | test rows | rows a step | steps |
|---|---|---|---|---|"""
Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]


def write(
    figures: Figures, setup: Mapping[str, Any], titles: Mapping[str, str]
) -> None:
    """Writes the section of RESULTS.md, and its plot.

    Args:
        figures: By data set and mode.
        setup: How they were measured.
        titles: Of the modes.
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
        _explanation(setup),
        "\n".join([_FIGURES_HEAD, *rows]),
        f"![Test AUC as training goes on]({PLOT.relative_to(RESULTS.parent)})",
        _setup(setup),
        "\n".join([_DATA_HEAD, *data]),
    ]
    return "\n\n".join(parts)


def _explanation(setup: Mapping[str, Any]) -> str:
    return f"""\
`PERSIA_TF_DATA=... python benchmarks/accuracy.py --write`: test AUC after training, the
mean of {setup["seeds"]} seeds ± their standard deviation. A seed is that of the initial
weights, of the order of rows and, except for Adult, which has its publisher's, of the
split. "Over synchronous" compares each seed with itself: the mean difference ± the
standard deviation, and each seed's.

Staleness is how many earlier steps were missing from a step's rows. In asynchronous
dense training rows are trained as in hybrid training of that staleness, and each dense
gradient is applied so many steps after it was taken, by one program: that is the delay
of asynchronous workers, without their number."""


def _figures_row(name: str, title: str, mode: str, of_mode: Mapping[str, Any]) -> str:
    differences = of_mode["minus_sync_of_each_seed"]
    each = ", ".join(f"{difference:+.4f}" for difference in differences)
    over = f"{_spread(differences, '+.4f')} ({each})"
    return (
        f"| {name} | {title} "
        f"| {of_mode['staleness_mean']:.1f} ({of_mode['staleness_max']}) "
        f"| {_spread(of_mode['auc_of_each_seed'], '.4f')} "
        f"| {'' if mode == 'sync' else over} |"
    )


def _spread(values: Sequence[float], form: str) -> str:
    mean = format(statistics.mean(values), form)
    if len(values) < 2:
        return mean
    return f"{mean} ± {statistics.stdev(values):.4f}"


def _setup(setup: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {v}" for name, v in setup["versions"].items())
    return (
        f"Set-up: rows in {setup['shards']} shards, which stand "
        f"{setup['delay_ms']:g} ms away each way unless training is synchronous; "
        f"Adagrad for rows and dense weights; seeds 0 to {setup['seeds'] - 1}; "
        f"{versions}."
    )


def _data_row(name: str, of_mode: Mapping[str, Any]) -> str:
    train_rows, test_rows = of_mode["rows"]
    steps = of_mode["steps"]
    return f"| {name} | {train_rows} | {test_rows} | {of_mode['batch']} | {steps} |"


def plot(figures: Figures, titles: Mapping[str, str]) -> None:
    """Draws test AUC against the steps, a panel a data set."""
    from matplotlib import pyplot  # Which the other programs do without.

    pyplot.switch_backend("Agg")
    # Equal figures give equal bytes, and text stays text.
    pyplot.rcParams.update({"svg.hashsalt": "accuracy", "svg.fonttype": "none"})
    width = 3.6 * len(figures)
    canvas, panels = pyplot.subplots(1, len(figures), figsize=(width, 3), squeeze=False)
    for panel, (name, modes) in zip(panels[0], figures.items()):
        for mark, (mode, title) in zip(_MARKS, titles.items()):
            curve = modes[mode]["curve"]
            steps = [
                modes[mode]["steps"] * (i + 1) / len(curve) for i in range(len(curve))
            ]
            panel.plot(steps, curve, marker=mark, markersize=4, label=title)
        panel.set_title(name)
        panel.set_xlabel("steps")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("test AUC")
    panels[0][0].legend(fontsize=7)
    canvas.tight_layout()
    PLOT.parent.mkdir(exist_ok=True)
    canvas.savefig(PLOT, metadata={"Date": None})
