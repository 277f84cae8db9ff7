"""Where the ops that look rows up run."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def on_host() -> Any:
    """A scope whose ops run on the host, wherever the model runs.

    For what takes ids or gives rows, which are in the host's memory. Left to
    TensorFlow, ids would go to a GPU for each op that it has a kernel of, and come
    back for the lookup; and without soft placement a lookup could not run at all.
    """
    return tf.device("CPU:0")
