"""Detects the float32 placeholders with which Keras builds models from shapes alone."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.layers.call_stack import KERAS_MODULE, frames_of

# The functions of Keras 3, and the module of tf_keras's `build`, that call a model with
# float32 placeholders, discard the result, and keep the layers' weights.
_OF_KERAS_3 = ("_build_by_run_for_single_pos_arg", "_build_by_run_for_kwargs")
_OF_TF_KERAS = "tf_keras.src.engine.training"


def is_placeholder_of_shape(inputs: Any) -> bool:
    """Whether an input is such a placeholder, so that its dtype has no meaning.

    Args:
        inputs: A layer's input, as a tensor of TensorFlow.
    """
    # Any float dtype, since mixed precision casts the float32 placeholders.
    if tf.is_symbolic_tensor(inputs) and inputs.dtype.is_floating:
        return _is_building_by_shape()
    return False


def _is_building_by_shape() -> bool:
    for frame in frames_of(KERAS_MODULE):
        function, module = frame.f_code.co_name, frame.f_globals["__name__"]
        if module.endswith(".sequential") and "build" in function:
            return False  # Its result is kept, with an input of that dtype.
        if function in _OF_KERAS_3:
            return True
        if function == "build" and module == _OF_TF_KERAS:
            return True
    return False
