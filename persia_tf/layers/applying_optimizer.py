"""Refuses optimizers whose way to apply gradients would step rows wrongly."""

from __future__ import annotations

import inspect
import re
from typing import Any

_OPTIMIZER_MODULE = re.compile(r"(keras|tf_keras)\..*(optimizers|mixed_precision)")


def refuse_unsupported_optimizer(layer_name: str) -> None:
    """Raises if the optimizer that is applying a constraint is not supported.

    Rows get the gradients of each batch as they are. So an optimizer that
    accumulates them over batches, or that unscales them after a scaled loss, would
    have rows stepped wrongly. Keras tells a constraint nothing about the
    optimizer that runs it; so this looks for it among its callers.

    Args:
        layer_name: For the message.

    Raises:
        NotImplementedError: if it accumulates gradients or scales the loss.
    """
    frame = inspect.currentframe()
    while frame is not None:
        # To read a frame's locals keeps them alive for as long as it runs: iterators
        # of the user's, for one.
        if _OPTIMIZER_MODULE.match(frame.f_globals.get("__name__", "")):
            caller = frame.f_locals.get("self")
            if hasattr(type(caller), "apply_gradients"):
                _check(caller, layer_name)
        frame = frame.f_back


def _check(optimizer: Any, layer_name: str) -> None:
    steps = getattr(optimizer, "gradient_accumulation_steps", None)
    if steps:
        raise NotImplementedError(
            f"layer '{layer_name}': gradient accumulation is not supported with "
            "PersiaEmbedding yet, since its rows would be stepped at every "
            "micro-batch. Compile with gradient_accumulation_steps=None. "
            f"Received: gradient_accumulation_steps={steps}"
        )
    factor = getattr(optimizer, "loss_scale_factor", None)
    if factor is not None or "LossScaleOptimizer" in type(optimizer).__name__:
        raise NotImplementedError(
            f"layer '{layer_name}': loss scaling is not supported with "
            "PersiaEmbedding yet, since the scale would reach its rows. Use "
            "float32 or mixed_bfloat16 computation. "
            f"Received: an optimizer {type(optimizer).__name__} that scales the loss"
        )
