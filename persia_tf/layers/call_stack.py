"""Inspects the call stack for facts that Keras and TensorFlow do not pass on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FrameType

KERAS_MODULE = re.compile(r"(keras|tf_keras)\.")


def frames_of(modules: re.Pattern[str]) -> Iterator[FrameType]:
    """Yields the frames on the stack that belong to some modules, innermost first.

    Args:
        modules: Matches the names of these modules. Match as few modules as possible:
            reading a frame's local variables keeps their values, such as a user's
            iterators, alive until the frame returns. Keras's modules usually suffice,
            since Keras calls the user's code.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if modules.match(frame.f_globals.get("__name__", "")):
            yield frame
        frame = frame.f_back
