"""This machine, as far as it decides what a step takes."""

from __future__ import annotations

import dataclasses
import os

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine.

    Attributes:
        cores: How many cores this process may use.
        has_accelerator: Whether the dense part of a step runs on an accelerator.
    """

    cores: int
    has_accelerator: bool


def this_machine() -> Machine:
    """Returns this machine, as this process may use it."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    return Machine(cores, bool(tf.config.list_logical_devices("GPU")))
