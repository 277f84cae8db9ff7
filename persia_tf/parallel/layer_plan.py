"""One layer of a plan."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class LayerPlan:
    """Where a layer is computed, and what that costs.

    Attributes:
        name: The layer's name, with the names of the layers that contain it.
        kind: The name of the layer's class.
        placement: `"data"` or `"model"`.
        axis: The axis of the division, or None.
        parameters: The number of the layer's parameters.
        shapes: The shapes of the layer's weights.
        examples: The greatest size of the first axis of the layer's input on a worker.
        data_bytes: The bytes that a worker receives per step if the layer is whole.
        bytes: The bytes that a worker receives per step as placed here.
        divisions: The axes along which the layer can be divided, with the bytes that a
            worker then receives per step.
    """

    name: str
    kind: str
    placement: str
    axis: str | None
    parameters: int
    shapes: list[list[int]]
    examples: int | None
    data_bytes: float
    bytes: float
    divisions: dict[str, float]
