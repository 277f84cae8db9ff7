"""Whether a call is for training, where the model does not say."""

from __future__ import annotations

import inspect
import re

# As it is written, and as AutoGraph rewrites it.
_TRAIN_STEP = re.compile(r"(tf__)?train_step$")


def is_training(training: bool | None) -> bool:
    """Returns whether a layer is called for training.

    A model whose `call` takes no `training` passes none on, and neither does a
    `compute_loss` that calls models without it: then it is for training if a
    `train_step` is running.

    Args:
        training: What the layer was called with. None: nobody said.
    """
    if training is not None:
        return bool(training)
    # Names alone: to read a frame's locals would keep them alive.
    frame = inspect.currentframe()
    while frame is not None:
        if _TRAIN_STEP.match(frame.f_code.co_name):
            return True
        frame = frame.f_back
    return False
