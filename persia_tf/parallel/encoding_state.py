"""Files of what a worker's encodings remember."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import tensorflow as tf


def save(
    folder: str | os.PathLike[str], worker: int, state: Mapping[str, tf.Variable]
) -> None:
    """Writes the values of variables into a worker's file.

    Args:
        folder: The folder of the files of all workers; created if there is none.
        worker: The worker's number.
        state: The variables, by name.
    """
    os.makedirs(folder, exist_ok=True)
    path = _path(folder, worker)
    with open(f"{path}.new", "wb") as file:
        np.savez(file, **{name: each.numpy() for name, each in state.items()})
    os.replace(f"{path}.new", path)


def load(
    folder: str | os.PathLike[str], worker: int, state: Mapping[str, tf.Variable]
) -> None:
    """Reads a worker's file into variables.

    Args:
        folder: The folder of the files of all workers.
        worker: The worker's number.
        state: The variables, by name.

    Raises:
        ValueError: if the file has other variables, or if there are no variables yet.
    """
    if not state:
        raise ValueError(
            "the model must take a training step before `load_state`, which creates "
            "what the encodings remember, for example by `train_on_batch`. "
            f"Received: folder={os.fspath(folder)!r}"
        )
    with np.load(_path(folder, worker)) as saved:
        found = {name: tuple(saved[name].shape) for name in saved.files}
        expected = {name: tuple(each.shape) for name, each in state.items()}
        names = sorted({*found, *expected})
        differing = [each for each in names if found.get(each) != expected.get(each)]
        if differing:
            raise ValueError(
                "`folder` must have the state of the same plan, model and workers. "
                f"Received: folder={os.fspath(folder)!r}, which differs at "
                f"{differing[:3]}" + (", and others" if len(differing) > 3 else "")
            )
        for name, variable in state.items():
            variable.assign(saved[name])


def _path(folder: str | os.PathLike[str], worker: int) -> str:
    return os.path.join(os.fspath(folder), f"worker_{worker}.npz")
