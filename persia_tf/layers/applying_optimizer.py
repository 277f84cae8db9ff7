"""Finds the optimizer that is applying gradients.

Keras does not pass the optimizer to layers or constraints, so these functions look for
it on the call stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from persia_tf._keras import keras
from persia_tf.layers.call_stack import KERAS_MODULE, frames_of


def applies_scaled_gradients(layer_name: str) -> bool:
    """Whether the optimizer that is applying a constraint scales its loss.

    This function also refuses gradient accumulation: rows are updated with the
    gradients of each batch, but the optimizer would update the dense weights only after
    several batches.

    Args:
        layer_name: The layer's name, for the message.

    Returns:
        Whether the optimizer received the gradients of a scaled loss.

    Raises:
        NotImplementedError: if the optimizer accumulates gradients.
    """
    optimizers = _optimizers()
    for optimizer in optimizers:
        _refuse_accumulation(optimizer, layer_name)
    return any(_scales_loss(optimizer) for optimizer in optimizers)


def applying_optimizer() -> Any:
    """Returns the Keras optimizer that is applying a constraint, or None.

    If optimizers wrap one another, the innermost optimizer is returned.
    """
    return next(iter(_optimizers()), None)


def is_trained_with_scaled_loss() -> bool:
    """Whether the optimizer of a model on the call stack scales the loss."""
    models = (c for c in _callers() if isinstance(c, keras.Model))
    return any(_scales_loss(getattr(model, "optimizer", None)) for model in models)


def _optimizers() -> list[Any]:
    return [c for c in _callers() if hasattr(type(c), "apply_gradients")]


def _callers() -> Iterator[Any]:
    """Yields the `self` of each frame of Keras on the call stack, innermost first."""
    for frame in frames_of(KERAS_MODULE):
        yield frame.f_locals.get("self")


def _scales_loss(optimizer: Any) -> bool:
    return (
        getattr(optimizer, "loss_scale_factor", None) is not None
        or "LossScaleOptimizer" in type(optimizer).__name__
    )


def _refuse_accumulation(optimizer: Any, layer_name: str) -> None:
    steps = getattr(optimizer, "gradient_accumulation_steps", None)
    if steps:
        raise NotImplementedError(
            f"layer '{layer_name}': gradient accumulation is not supported with "
            "PersiaEmbedding yet, since its rows would be stepped at every "
            "micro-batch. Compile with gradient_accumulation_steps=None. "
            f"Received: gradient_accumulation_steps={steps}"
        )
