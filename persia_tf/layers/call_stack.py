"""Who is calling, where Keras and TensorFlow tell layers nothing of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import FrameType

KERAS_MODULE = re.compile(r"(keras|tf_keras)\.")


def frames_of(modules: re.Pattern[str]) -> Iterator[FrameType]:
    """Gives the frames that are running, innermost first.

    Args:
        modules: Matches the names of the modules that count. To read a frame's locals
            keeps them alive for as long as it runs, iterators of the user's for one:
            those of Keras are enough, since they call the rest.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if modules.match(frame.f_globals.get("__name__", "")):
            yield frame
        frame = frame.f_back
