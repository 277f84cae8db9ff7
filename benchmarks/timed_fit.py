"""Runs a program, and writes how long each epoch of its `fit` took.

    python benchmarks/timed_fit.py SECONDS_FILE PROGRAM [ARGUMENT ...]

SECONDS_FILE becomes a JSON list, with the seconds of each epoch and the processor time
of this process in each. The program itself needs no change.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import tensorflow as tf


class EpochSeconds(tf.keras.callbacks.Callback):
    """Collects the seconds of each epoch, and its processor seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[tuple[float, float]] = []
        self._began = (0.0, 0.0)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._began = (time.perf_counter(), time.process_time())

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        wall, cpu = self._began
        self.seconds.append((time.perf_counter() - wall, time.process_time() - cpu))


def main() -> None:
    seconds_file, program, *arguments = sys.argv[1:]
    epochs = EpochSeconds()
    fit = tf.keras.Model.fit

    def timed_fit(model: Any, *given: Any, callbacks: Any = (), **named: Any) -> Any:
        return fit(model, *given, callbacks=[*callbacks, epochs], **named)

    sys.argv = [program, *arguments]
    tf.keras.Model.fit = timed_fit
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        tf.keras.Model.fit = fit
    Path(seconds_file).write_text(json.dumps(epochs.seconds))


if __name__ == "__main__":
    main()
