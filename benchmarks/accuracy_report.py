"""The table and the plot of accuracy.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from results_file import RESULTS, write_section

PLOT = RESULTS.parent / "accuracy.png"
_DOTS_AN_INCH = 80
_MARKS = "osd"
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
    lines = [
        "## Accuracy",
        "",
        f"`benchmarks/accuracy.py --write`: test AUC, the mean of {setup['seeds']} "
        f"seeds, rows in {setup['shards']} shards. In hybrid training they stand "
        f"{setup['delay_ms']:g} ms away each way, and the staleness that a step met "
        "is the most steps that were between its lookup and its update. A difference "
        "is the mean over seeds, each compared with itself, and the range.",
        "",
        "| data | training | steps | staleness met | test AUC | over synchronous |",
        "|---|---|---|---|---|---|",
    ]
    for name, modes in figures.items():
        for mode, title in titles.items():
            of_mode = modes[mode]
            lines.append(
                f"| {name} | {title} | {of_mode['steps']} "
                f"| {of_mode['staleness_met']} | {of_mode['auc']:.4f} "
                f"| {'' if mode == 'sync' else _difference(of_mode)} |"
            )
    lines += ["", f"![Test AUC as training goes on]({PLOT.name})"]
    return "\n".join(lines)


def _difference(of_mode: Mapping[str, Any]) -> str:
    of_seeds = of_mode["minus_sync_of_each_seed"]
    return (
        f"{of_mode['minus_sync']:+.4f} ({min(of_seeds):+.4f} to {max(of_seeds):+.4f})"
    )


def plot(figures: Figures, titles: Mapping[str, str]) -> None:
    """Draws test AUC against the steps, a panel a data set."""
    from matplotlib import pyplot  # Which the other programs do without.

    pyplot.switch_backend("Agg")
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
    panels[0][0].legend(fontsize=8)
    canvas.tight_layout()
    canvas.savefig(PLOT, dpi=_DOTS_AN_INCH)
