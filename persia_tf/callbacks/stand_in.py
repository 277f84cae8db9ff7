"""A wrapper of a model that Keras's callbacks use in place of the model."""

from __future__ import annotations

from typing import Any


class StandIn:
    """Wraps a model: attributes that the wrapper does not define are the model's.

    Args:
        model: A `keras.Model`.
    """

    def __init__(self, model: Any) -> None:
        object.__setattr__(self, "_whole", model)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._whole, name, value)
