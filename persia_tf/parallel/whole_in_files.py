"""Makes TensorFlow's checkpoints have the whole value of a divided variable.

TensorFlow asks each variable for the tensors of its checkpoint, and gives it those that
it reads, by methods that an object can replace. So `tf.train.Checkpoint`, and what uses
it, such as `BackupAndRestore` of tf_keras, write and read whole values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.training.saving import saveable_object

# The name of the value of any variable of TensorFlow in a checkpoint.
_VALUE = "VARIABLE_VALUE"
# For SavedModels, and for checkpoints that another thread writes later.
_REFUSED = ("_export_to_saved_model_graph", "_copy_trackable_to_cpu")
_HOOKS = ("_serialize_to_tensors", "_restore_from_tensors", *_REFUSED)


def write_whole(
    variable: Any, storage: Any, whole: Callable[[], Any], restore: Callable[[Any], Any]
) -> None:
    """Makes checkpoints have a variable's whole value instead of its part.

    Args:
        variable: The variable that layers or optimizers have.
        storage: TensorFlow's variable that has the part.
        whole: Returns the whole value. Called once when a checkpoint is written, and
            not when one is read.
        restore: Keeps a part of a whole value that was read.
    """

    def serialize() -> dict[str, Any]:
        spec = saveable_object.SaveSpec(
            lambda: tf.convert_to_tensor(whole()),
            slice_spec="",
            name=_VALUE,
            dtype=storage.dtype,
            device=storage.device,
        )
        return {_VALUE: spec}

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "a weight of a divided layer, or what an optimizer keeps for it, can be "
            "saved in this way only as a whole: save the model within a block `with "
            f"ptf.parallel.whole(model):`. Received: the variable {variable.name}"
        )

    variable._serialize_to_tensors = serialize
    variable._restore_from_tensors = lambda tensors: restore(tensors[_VALUE])
    for name in _REFUSED:
        setattr(variable, name, refuse)


def write_as_is(variable: Any) -> None:
    """Undoes `write_whole`."""
    for name in _HOOKS:
        variable.__dict__.pop(name, None)
