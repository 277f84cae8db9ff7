"""Settings of TensorFlow in servers, to be made before it is imported."""

from __future__ import annotations

import os


def reduce_log() -> None:
    """Reduces TensorFlow's own log to errors, unless the environment says otherwise."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def hide_gpus() -> None:
    """Leaves the machine's GPUs to other processes."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
