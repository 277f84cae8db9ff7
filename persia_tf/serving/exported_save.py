"""Stores the number of a checkpoint in an export.

The export's rows are at least as new as the rows of that checkpoint, so a follower that
updates the export can begin from the checkpoint.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

_NAME = "base_save"


def keep_save(module: tf.Module, save_id: int) -> None:
    """Stores a checkpoint's number, 0 to 2**64 - 1, in a module that will be saved."""
    # The variable is int64, since TensorFlow has few kernels for unsigned integers.
    setattr(module, _NAME, tf.Variable(_as(np.int64, save_id), trainable=False))


def read_save(loaded: Any) -> int:
    """Returns the number that a loaded SavedModel stores, or 0 if it stores none."""
    kept = getattr(loaded, _NAME, None)
    return 0 if kept is None else int(_as(np.uint64, kept.numpy()))


def _as(dtype: type, number: Any) -> Any:
    return np.array(number, np.uint64 if dtype is np.int64 else np.int64).view(dtype)
