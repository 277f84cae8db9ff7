"""The loop of a running `fit` over the batches of an epoch.

Keras assumes that all epochs of a `fit` have as many batches as the first one. That is
wrong if the first epoch is the rest of an interrupted one, and Keras has no public way
to set the number.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from absl import logging

from persia_tf._keras import IS_KERAS_3


class _Names(NamedTuple):
    """What the Keras in use calls its loop, and the numbers that it has.

    Attributes:
        loop: The loop.
        done: How many steps were done in it.
        length: How many batches an epoch has, or None.
        steps: `steps_per_epoch`.
    """

    loop: str
    done: str
    length: str
    steps: str


_NAMES = (
    _Names("epoch_iterator", "_steps_seen", "_num_batches", "steps_per_epoch")
    if IS_KERAS_3
    else _Names("data_handler", "_current_step", "_inferred_steps", "_inferred_steps")
)


def end_epoch() -> None:
    """Ends the epoch after the step whose callbacks run, as if it were the last one."""
    loop = _loop()
    if loop is not None and getattr(loop, _NAMES.length) is not None:
        setattr(loop, _NAMES.done, getattr(loop, _NAMES.length))


def set_length(batches: int) -> None:
    """Says how many batches the next epochs have, if Keras had to find it out."""
    loop = _loop()
    if loop is not None:
        setattr(loop, _NAMES.length, batches)


def set_steps(steps: int) -> None:
    """Says how many steps the epoch that begins has, of a `fit` with a number of them.

    Until it is called again, the next epochs have as many.
    """
    loop = _loop()
    if loop is not None:
        setattr(loop, _NAMES.steps, steps)


def _loop() -> Any:
    """Returns the loop of the `fit` that called a callback."""
    frame = sys._getframe()
    while frame is not None:
        loop = frame.f_locals.get(_NAMES.loop)
        if hasattr(loop, _NAMES.done) and hasattr(loop, _NAMES.length):
            return loop
        frame = frame.f_back
    logging.warning(
        "This version of Keras has another loop than those that persia_tf knows: after "
        "the rest of an epoch, the other epochs may have too few batches; and with "
        "`steps_per_epoch`, the rest of an epoch too many."
    )
    return None
