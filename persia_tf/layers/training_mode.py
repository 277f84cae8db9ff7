"""Determines whether a call is for training if `training` is not passed."""

from __future__ import annotations

import inspect
import re

# Matches `train_step`, and the name to which AutoGraph changes it.
_TRAIN_STEP = re.compile(r"(tf__)?train_step$")


def is_training(training: bool | None) -> bool:
    """Returns whether a layer is called for training.

    Some callers pass no `training`: a model whose `call` does not have this argument, a
    `compute_loss` that calls models without it, or any plain call `model(x)`. Then the
    call is for training if a function named `train_step` is on the stack, whether it is
    Keras's own, a model's, or one of a custom loop. So within a `train_step`, pass
    `training=False` to a model that must not train. In a custom loop without a function
    of that name, pass `training=True`.

    Args:
        training: The layer's `training` argument; None if it was not passed.
    """
    if training is not None:
        return bool(training)
    # Read only names of functions: reading a frame's local variables would keep their
    # values alive.
    frame = inspect.currentframe()
    while frame is not None:
        if _TRAIN_STEP.match(frame.f_code.co_name):
            return True
        frame = frame.f_back
    return False
