"""An object that Keras's callbacks get in place of their model."""

from __future__ import annotations

from typing import Any


class StandIn:
    """Stands in for a model: attributes that a subclass lacks are the model's.

    Args:
        model: A `keras.Model`.
    """

    def __init__(self, model: Any) -> None:
        object.__setattr__(self, "_whole", model)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._whole, name, value)
