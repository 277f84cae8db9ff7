"""Chooses the placements with the least predicted time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from persia_tf.parallel.planning.step_costs import WHOLE, StepCosts

# A prediction errs: a plan that divides layers must promise this much.
_LEAST_GAIN = 1.03


def least(costs: StepCosts, allowed: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Returns the axis, or `WHOLE`, of each layer.

    Improves one layer after the other, from the largest on, until none improves:
    starting with as few divided layers as are allowed, and with all.

    Args:
        costs: The costs of all placements.
        allowed: The axes, or `WHOLE`, that each layer may have.
    """
    few = {name: axes[0] for name, axes in allowed.items()}
    all_divided = {name: axes[-1] for name, axes in allowed.items()}
    best = min(
        (_improved(costs, allowed, start) for start in (few, all_divided)),
        key=costs.step_seconds,
    )
    whole = {
        name: WHOLE if WHOLE in axes else best[name] for name, axes in allowed.items()
    }
    gains = costs.step_seconds(whole) / costs.step_seconds(best)
    return best if gains >= _LEAST_GAIN else whole


def _improved(
    costs: StepCosts, allowed: Mapping[str, Sequence[str]], chosen: dict[str, str]
) -> dict[str, str]:
    largest_first = sorted(
        allowed, key=lambda name: -costs.layers[name][WHOLE].whole_bytes
    )
    least = costs.step_seconds(chosen)
    improves = True
    while improves:
        improves = False
        for name in largest_first:
            for axis in allowed[name]:
                changed = {**chosen, name: axis}
                seconds = costs.step_seconds(changed)
                if seconds < least:
                    chosen, least, improves = changed, seconds, True
    return chosen
