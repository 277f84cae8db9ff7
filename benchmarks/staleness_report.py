"""The tables and the plot of staleness_skew.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import staleness_bound
from results_file import RESULTS, write_section
from staleness_bound import Interval
from staleness_training import CLICKS, OPTIMIZERS

from persia_tf.base.chart import Axis, Frame, Line, draw_chart
from persia_tf.base.svg import Picture

PLOT = RESULTS.parent / "results" / "staleness_skew.svg"
_THOUSANDTHS = 1000
_HEADING = "## Staleness and skew"
_EXPLANATION = """\
`PERSIA_TF_DATA=... python benchmarks/staleness_skew.py --write`: test loss and AUC over
those of the same seed without staleness, in thousandths: the mean over seeds ± half of
its 95% confidence interval (Student's t). Updates of rows are applied exactly so many
steps late, by a queue in the model; dense weights are trained without delay. Updates
that are still held after the last step are applied before the test. The rows are
embedded in the program. No learning rate was tuned for a delay.

The click model has four features of 4096 ids, which follow a Zipf law of the given
exponent; each id adds a weight of its own to the logit of a click. Its test loss is the
expectation over the true probabilities, so that the best possible one is known."""
_GROUPS_HEAD = """\
| data | skew | optimizer | most frequent id | of batches | typical | examples a step \
| steps | seeds | loss | best possible | AUC | best possible |
|---|---|---|---|---|---|---|---|---|---|---|---|---|"""
_GROUPS_LEGEND = """\
Training without staleness. "Most frequent id" is the share of examples that have it,
"of batches" the share of batches, and "typical" the share of batches with the id of a
random example, as a mean over features."""
_FITS_HEAD = """\
| optimizer | alpha | costs | unresolved | constant | correlation | slope | typical \
factor | within a factor of 3 |
|---|---|---|---|---|---|---|---|---|"""
_FITS_LEGEND = """\
How well `constant * staleness * alpha / steps`, the shape of the bound, describes the
costs of the click model. Only the constant is fitted. The correlation is that of the
logarithms of measured and predicted costs. The slope is the power by which measured
costs grow with predicted ones: the bound says 1. Costs whose interval includes 0 are
unresolved, and left out."""
_SKEWS_HEAD = """\
| optimizer | alpha | skew | costs | measured over predicted | slope |
|---|---|---|---|---|---|"""
_SKEWS_LEGEND = """\
The same by skew: measured costs over those that the constant of all skews predicts, as
a geometric mean, and the slope within the skew."""
_ALPHAS = {
    "batch": "share of batches with the id",
    "example": "share of examples with the id",
    "typical": "share of batches with an example's id",
    "none": "1: skew ignored",
}
# The plot's panels: their widths, heights and places.
_WIDTH, _HEIGHT, _TOP, _SIDE, _GAP = 860, 430, 70, 300, 130
_COLOURS = ("blue", "orange", "green", "quiet", "ink")


def write(figures: Mapping[str, Any], setup: Mapping[str, Any]) -> None:
    """Writes the section of RESULTS.md, and its plot.

    Args:
        figures: What staleness_skew.py measured.
        setup: How.
    """
    PLOT.parent.mkdir(exist_ok=True)
    PLOT.write_text(plot(figures))
    picture = f"![Cost of staleness]({PLOT.relative_to(RESULTS.parent)})"
    write_section("staleness_skew", text(figures, setup, picture))


def text(
    figures: Mapping[str, Any], setup: Mapping[str, Any], picture: str = ""
) -> str:
    """Returns the section.

    Args:
        figures: What staleness_skew.py measured.
        setup: How.
        picture: The plot, in Markdown.
    """
    groups, fits = figures["groups"], figures["fits"]
    parts = [
        _HEADING,
        _EXPLANATION,
        "Loss over that without staleness, in thousandths, by staleness:",
        _costs(groups, "loss"),
        "AUC over that without staleness, in thousandths, by staleness:",
        _costs(groups, "auc"),
        *([picture] if picture else []),
        _FITS_LEGEND,
        _fits_table(fits),
        _SKEWS_LEGEND,
        _skews_table(fits),
        _GROUPS_LEGEND,
        _groups_table(groups),
        _setup(setup),
    ]
    return "\n\n".join(parts)


def _costs(groups: Sequence[Mapping[str, Any]], fact: str) -> str:
    columns = sorted({c["staleness"] for group in groups for c in group["costs"]})
    head = ["data", "skew", "optimizer", *map(str, columns)]
    lines = [_line(head), _line(["---"] * len(head))]
    for group in groups:
        cells = {c["staleness"]: _cell(Interval(**c[fact])) for c in group["costs"]}
        lines.append(
            _line([*names_of(group), *(cells.get(each, "") for each in columns)])
        )
    return "\n".join(lines)


def _cell(cost: Interval) -> str:
    mean = f"{cost.mean * _THOUSANDTHS:+.2f}"
    if cost.half_width is None:
        return mean
    return f"{mean} ± {cost.half_width * _THOUSANDTHS:.2f}"


def names_of(group: Mapping[str, Any]) -> list[str]:
    """Returns the data set of a group, the skew of its ids, and its optimizer."""
    exponent = group["exponent"]
    return [
        group["data_set"],
        "its own" if exponent is None else skew_name(exponent),
        OPTIMIZERS[group["optimizer"]].title,
    ]


def skew_name(exponent: float) -> str:
    """Returns the name of a skew in reports."""
    return f"Zipf {exponent:g}" if exponent else "uniform"


def _fits_table(fits: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [_FITS_HEAD]
    for optimizer, by_alpha in fits.items():
        for alpha, fit in by_alpha.items():
            facts = [fit["points"], fit["unresolved"], _short(fit["constant"])]
            facts += [_short(fit["correlation"]), _short(fit["slope"])]
            facts += [_short(fit["factor"]), f"{fit['near']:.0%}"]
            lines.append(
                _line([OPTIMIZERS[optimizer].title, _ALPHAS[alpha], *map(str, facts)])
            )
    return "\n".join(lines)


def _skews_table(fits: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [_SKEWS_HEAD]
    for optimizer, by_alpha in fits.items():
        for alpha, fit in by_alpha.items():
            for skew, own in fit["skews"].items():
                facts = [str(own["points"]), _short(own["over_predicted"])]
                names = [OPTIMIZERS[optimizer].title, _ALPHAS[alpha]]
                names.append(skew_name(float(skew)))
                lines.append(_line([*names, *facts, _short(own["slope"])]))
    return "\n".join(lines)


def _groups_table(groups: Sequence[Mapping[str, Any]]) -> str:
    lines = [_GROUPS_HEAD]
    for group in groups:
        shares = [
            _short(group["alphas"][each]) for each in ("example", "batch", "typical")
        ]
        facts = [str(group[fact]) for fact in ("batch", "steps", "seeds")]
        results = [
            f"{group[fact]:.4f}" if fact in group else ""
            for fact in ("loss", "best_loss", "auc", "best_auc")
        ]
        lines.append(_line([*names_of(group), *shares, *facts, *results]))
    return "\n".join(lines)


def _setup(setup: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {v}" for name, v in setup["versions"].items())
    rates = "; ".join(
        f"{each['title']} with {each['row_rate']:g} for rows and "
        f"{each['dense_rate']:g} for dense weights"
        for each in setup["optimizers"].values()
    )
    return f"Set-up: learning rates of the click model: {rates}; {versions}."


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.2g}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def plot(figures: Mapping[str, Any]) -> str:
    """Plots the click model's costs over the predicted ones, as SVG.

    A panel for each reading of alpha has a line for each skew, and the bound's. Both
    axes are logarithmic. It shows the first optimizer that has a fit.

    Args:
        figures: What staleness_skew.py measured.
    """
    picture = Picture(_WIDTH, _HEIGHT, "Cost of staleness, measured and predicted")
    title = "Test loss over that without staleness, by what the bound predicts"
    picture.text(20, 30, title, size=14, bold=True, anchor="start")
    for optimizer, fits in figures["fits"].items():
        groups = [
            group
            for group in figures["groups"]
            if (group["data_set"], group["optimizer"]) == (CLICKS, optimizer)
        ]
        for number, alpha in enumerate(("batch", "typical")):
            left = 70 + number * (_SIDE + _GAP)
            _panel(picture, left, groups, alpha, fits[alpha])
        break
    return str(picture)


def _panel(
    picture: Picture,
    left: float,
    groups: Sequence[Mapping[str, Any]],
    alpha: str,
    fit: Mapping[str, Any],
) -> None:
    lines = []
    for number, group in enumerate(groups):
        curve = [
            (
                staleness_bound.predicted(
                    c["staleness"],
                    group["alphas"][alpha],
                    group["steps"],
                    fit["constant"],
                ),
                c["loss"]["mean"],
            )
            for c in group["costs"]
            if Interval(**c["loss"]).is_positive
        ]
        colour = _COLOURS[number % len(_COLOURS)]
        # Colours repeat, so lines of the second round are dashed.
        is_again, name = number >= len(_COLOURS), skew_name(group["exponent"])
        if curve:
            lines.append(Line(curve, colour, True, is_again, label=name))
    every = [each for line in lines for point in line.points for each in point]
    ends = min(every), max(every)
    bound = Line([(end, end) for end in ends], "quiet", dashed=True)
    powers = [10.0**power for power in _powers(*ends)]
    predicted, measured = (
        Axis(title, "{:.2g}".format, is_logarithmic=True, ticks=powers)
        for title in ("predicted", "measured")
    )
    frame = Frame(left, left + _SIDE, _TOP, _TOP + _SIDE)
    draw_chart(picture, frame, predicted, measured, [bound, *lines])
    middle = left + _SIDE / 2
    picture.text(middle, _TOP - 14, f"alpha: {_ALPHAS[alpha]}", size=12)


def _powers(lowest: float, highest: float) -> range:
    return range(math.ceil(math.log10(lowest)), math.floor(math.log10(highest)) + 1)
