"""Placeholders that Keras builds subclassed models with, knowing their shapes alone."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.layers.call_stack import KERAS_MODULE, frames_of

# What calls a model with float32 placeholders, throws the result away, and keeps the
# layers' weights: of Keras 3, and in the module of tf_keras's `Model`.
_OF_KERAS_3 = ("_build_by_run_for_single_pos_arg", "_build_by_run_for_kwargs")
_OF_TF_KERAS = "tf_keras.src.engine.training"


def is_placeholder_of_shape(inputs: Any) -> bool:
    """Whether an input is there for its shape alone, so that its type means nothing.

    Args:
        inputs: A layer's, as a tensor of TensorFlow.
    """
    # Mixed precision makes others of float32.
    if tf.is_symbolic_tensor(inputs) and inputs.dtype.is_floating:
        return _is_building_by_shape()
    return False


def _is_building_by_shape() -> bool:
    for frame in frames_of(KERAS_MODULE):
        function, module = frame.f_code.co_name, frame.f_globals["__name__"]
        if module.endswith(".sequential") and "build" in function:
            return False  # It keeps what it makes, with an input of that type.
        if function in _OF_KERAS_3:
            return True
        if function == "build" and module == _OF_TF_KERAS:
            return True
    return False
