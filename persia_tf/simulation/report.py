"""The report of a simulation: what a cluster does, and what of it breaks first."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from persia_tf.simulation.busy import busy_parts
from persia_tf.simulation.costs import Costs, measured_costs
from persia_tf.simulation.examples import Example, Value
from persia_tf.simulation.limit import Facts, Limit
from persia_tf.simulation.limits import limits_of
from persia_tf.simulation.page import report_page
from persia_tf.simulation.sensitivity import (
    Change,
    least_steps,
    sensitivity,
    steps_for,
    warm_up_of,
)
from persia_tf.simulation.simulate import Simulated, simulate
from persia_tf.simulation.text import report_text


@dataclasses.dataclass(frozen=True)
class Report:
    """What a simulated cluster does. `print(report)` shows it as text.

    Attributes:
        title: What was simulated.
        values: The value of each attribute of `Setup` and `Operation`, with its source.
        steps: How many steps of each trainer were simulated.
        examples_per_second: Of all trainers.
        simulated: What the cluster does.
        busy: The part of the time in which each resource is busy, the busiest first.
        limits: What is limited, with the least headroom first.
        sensitivity: How the throughput depends on each assumption; None if that was
            not asked for.
        measured: How the costs were measured.
    """

    title: str
    values: Mapping[str, Value]
    steps: int
    examples_per_second: float
    simulated: Simulated
    busy: Mapping[str, float]
    limits: tuple[Limit, ...]
    sensitivity: tuple[Change, ...] | None
    measured: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as a dict of what JSON has."""
        changes = self.sensitivity
        plain = {
            "title": self.title,
            "values": {
                name: dataclasses.asdict(value) for name, value in self.values.items()
            },
            "steps": self.steps,
            "examples_per_second": self.examples_per_second,
            "simulated": dataclasses.asdict(self.simulated),
            "busy": dict(self.busy),
            "limits": [_finite(limit.to_dict()) for limit in self.limits],
            "sensitivity": changes and [dataclasses.asdict(each) for each in changes],
            "measured": dict(self.measured),
        }
        return json.loads(json.dumps(plain, allow_nan=False))

    def to_json(self, indent: int | None = None) -> str:
        """Returns the report as JSON.

        Args:
            indent: By how many spaces to indent. Defaults to None: one line.
        """
        return json.dumps(self.to_dict(), indent=indent)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as a page, which loads nothing from elsewhere.

        Args:
            path: The file, which is replaced if it exists.
        """
        Path(path).write_text(report_page(self), encoding="utf-8")

    def __str__(self) -> str:
        return report_text(self)


def report(
    example: Example,
    costs: Costs | None = None,
    *,
    steps: int | None = None,
    with_sensitivity: bool = False,
) -> Report:
    """Simulates a set-up, and reports what it does and what of it breaks first.

    Example:

    ```python
    print(report(examples()["paper"]))
    ```

    Args:
        example: The set-up, its operation, and where their values come from.
        costs: What work takes. Defaults to None: as measured.
        steps: How many steps of each trainer to simulate, more than its staleness + 1.
            Defaults to None: at most 200, as many as have some 100,000 requests.
        with_sensitivity: Whether to simulate each assumption's half and double, too.

    Raises:
        ValueError: if `steps` is so small that no update ends in them.
    """
    setup, costs = example.setup, costs or measured_costs()
    least = least_steps(setup)
    if steps is not None and steps < least:
        raise ValueError(
            f"`steps` must be at least {least}, the staleness + 2, so that updates end "
            f"in them. Received: steps={steps}"
        )
    counted = steps or steps_for(setup, _REQUESTS)

    def run(slowest: float) -> Simulated:
        changed = dataclasses.replace(setup, slowest=slowest)
        first = warm_up_of(setup)
        return simulate(changed, costs=costs, steps=counted, warm_up=first)

    simulated = run(setup.slowest)
    slowed = run(2 * setup.slowest)
    return Report(
        title=example.title,
        values=example.values,
        steps=counted,
        examples_per_second=simulated.per_second * setup.examples * setup.trainers,
        simulated=simulated,
        busy=busy_parts(setup, simulated),
        limits=limits_of(Facts(setup, example.operation, costs, simulated, slowed)),
        sensitivity=(
            sensitivity(setup, costs, steps=steps) if with_sensitivity else None
        ),
        measured=costs.measured,
    )


# A report simulates twice, and may take longer than each step of a sensitivity.
_REQUESTS = 100_000


def _finite(plain: dict[str, Any]) -> dict[str, Any]:
    """Returns a dict whose endless numbers are None, which JSON has."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in plain.items()
    }
