"""The placements that a layer may have."""

from __future__ import annotations

from typing import NamedTuple

from persia_tf.parallel.planning.layer_costs import LayerCost

# In place of an axis: each worker has the whole layer.
WHOLE = ""


class Choices(NamedTuple):
    """The axes along which a layer can be divided, or `WHOLE`, with their costs.

    Attributes:
        costs: The costs of each choice. Empty if the model does not call the layer.
        allowed: The choices that the layer's tag leaves.
    """

    costs: dict[str, LayerCost]
    allowed: tuple[str, ...]
