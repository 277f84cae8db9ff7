"""What optimizer is at work, of which Keras tells layers and constraints nothing.

So these functions look for it among their callers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from persia_tf._keras import keras
from persia_tf.layers.call_stack import KERAS_MODULE, frames_of


def applies_scaled_gradients(layer_name: str) -> bool:
    """Looks at the optimizer that is applying a constraint.

    Rows get the gradients of each batch. So an optimizer that accumulates them over
    batches would have rows stepped wrongly.

    Args:
        layer_name: For the message.

    Returns:
        Whether the gradients that it got were of a scaled loss.

    Raises:
        NotImplementedError: if it accumulates gradients.
    """
    optimizers = _optimizers()
    for optimizer in optimizers:
        _refuse_accumulation(optimizer, layer_name)
    return any(_scales_loss(optimizer) for optimizer in optimizers)


def applying_optimizer() -> Any:
    """Returns the Keras optimizer that is applying a constraint, or None.

    Of optimizers that wrap one another it is the innermost.
    """
    return next(iter(_optimizers()), None)


def is_trained_with_scaled_loss() -> bool:
    """Whether a model that is being called was compiled to scale its loss."""
    models = (c for c in _callers() if isinstance(c, keras.Model))
    return any(_scales_loss(getattr(model, "optimizer", None)) for model in models)


def _optimizers() -> list[Any]:
    return [c for c in _callers() if hasattr(type(c), "apply_gradients")]


def _callers() -> Iterator[Any]:
    """The objects whose methods are running, innermost first."""
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
