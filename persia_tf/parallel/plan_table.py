"""Shows a plan as a table."""

from __future__ import annotations

from typing import Any

from persia_tf.parallel.layer_plan import LayerPlan
from persia_tf.parallel.planning.step_costs import WHOLE, StepCosts

_HEADER = (
    *("layer", "class", "placement", "parameters"),
    *("MB whole", "MB placed", "ms whole", "ms placed"),
)


def plan_table(plan: Any) -> str:
    """Returns the table of a plan, with a line for each layer.

    `MB whole` are the megabytes that a worker receives per step if the layer is whole
    on each worker, and `MB placed` those that it receives as the plan places the layer.
    `ms whole` and `ms placed` are the predicted milliseconds that the layer takes per
    step: to compute, exchange and update it. In a step, some of that runs beside other
    layers.
    """
    rows = [_HEADER, *(_row(layer, plan.costs) for layer in plan.layers)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([_title(plan), *lines, *_summary(plan)])


def _title(plan: Any) -> str:
    return (
        f"Plan for {plan.workers} workers in groups of {plan.group_size}, "
        f"global batches of {plan.batch_size}"
    )


def _row(layer: LayerPlan, costs: StepCosts) -> tuple[str, ...]:
    seconds = [
        costs.layer_seconds(layer.name, axis or WHOLE) for axis in ("", layer.axis)
    ]
    placement = layer.placement + (f", {layer.axis}" if layer.axis else "")
    return (
        layer.name,
        layer.kind,
        placement,
        f"{layer.parameters:,}",
        f"{layer.data_bytes / 1e6:.2f}",
        f"{layer.bytes / 1e6:.2f}",
        *(f"{each * 1e3:.1f}" for each in seconds),
    )


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    texts = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3])]
    numbers = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:])]
    return "  ".join(texts + numbers)


def _summary(plan: Any) -> list[str]:
    if plan.step_seconds is None:
        return [
            f"Encoded {name}: {encoding}"
            for name, encoding in (
                ("gradients", plan.gradients),
                ("activations", plan.activations),
            )
            if encoding is not None
        ] + ["MB are those without encodings, with which no step time is predicted."]
    ratio = plan.data_step_seconds / plan.step_seconds
    return [
        f"Predicted step: {_milliseconds(plan.step_seconds)}, and "
        f"{_milliseconds(plan.data_step_seconds)} if no layer is divided "
        f"({ratio:.2f} times as fast)"
    ]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"
