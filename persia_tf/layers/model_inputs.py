"""The specs of the inputs that models were called with, as text for a model's file.

Keras saves only the shapes of a subclassed model's inputs, and assumes float32 when it
rebuilds the model. But ids are integers or strings.
"""

from __future__ import annotations

import json
import weakref
from typing import Any

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.layers.call_stack import KERAS_MODULE, frames_of

# The specs of the inputs of Keras 3 models, as text. Models of tf_keras have
# `save_spec` instead.
_noted: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

_CONSTANTS = (type(None), bool, int, float, str)


def note_inputs_of_callers() -> None:
    """Records the input specs of all models that are calling the current layer."""
    if not IS_KERAS_3:
        return
    for frame in frames_of(KERAS_MODULE):
        if frame.f_code.co_name != "__call__":
            continue
        local = frame.f_locals
        model = local.get("self")
        if isinstance(model, keras.Model) and model not in _noted:
            inputs = _as_text(local.get("args", ()), local.get("kwargs", {}))
            if inputs is not None:
                _noted[model] = inputs


def inputs_of(model: Any) -> str | None:
    """Returns the input specs of a model's first call, as text; None if unknown."""
    if IS_KERAS_3:
        return _noted.get(model)
    spec = model.save_spec()
    return None if spec is None else _as_text(*spec)


def input_specs_of(model: Any) -> Any:
    """Returns the inputs of a model's first call, as a structure of specs.

    Returns None if the inputs are unknown, or if the call had more than one argument.
    """
    noted = inputs_of(model)
    if noted is None:
        return None
    args, kwargs = _structure(json.loads(noted))
    specs = [
        each for each in (*args, *kwargs.values()) if not isinstance(each, _CONSTANTS)
    ]
    return specs[0] if len(specs) == 1 else None


def call_with(model: Any, inputs: str) -> None:
    """Traces a call of a model, which builds its layers. Nothing is computed.

    Args:
        model: A Keras model.
        inputs: A result of `inputs_of`.

    Raises:
        Exception: any exception that the model's `call` raises.
    """
    args, kwargs = _structure(json.loads(inputs))
    call = tf.function(lambda args, kwargs: model(*args, **kwargs))
    call.get_concrete_function(args, kwargs)


def _as_text(args: Any, kwargs: Any) -> str | None:
    kwargs = dict(kwargs)
    if "training" in kwargs:
        kwargs["training"] = False
    try:
        return json.dumps(_plain([list(args), kwargs]))
    except TypeError:  # Some argument cannot be written as JSON.
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, _CONSTANTS):
        return {"constant": value}
    if isinstance(value, dict):
        return {"dict": [[key, _plain(each)] for key, each in value.items()]}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_plain(each) for each in value]}
    return _plain_spec(_spec_of(value))


def _spec_of(value: Any) -> tf.TypeSpec:
    if isinstance(value, tf.TypeSpec):
        return value
    if not keras.backend.is_keras_tensor(value):
        return tf.type_spec_from_value(value)
    if value.sparse:
        return tf.SparseTensorSpec(value.shape, value.dtype)
    if getattr(value, "ragged", False):
        return tf.RaggedTensorSpec(value.shape, value.dtype)
    return tf.TensorSpec(value.shape, value.dtype)


def _plain_spec(spec: tf.TypeSpec) -> dict[str, Any]:
    shape = spec.shape.as_list() if spec.shape.rank is not None else None
    if shape:
        shape[0] = None  # The batch size may vary.
    plain = {"shape": shape, "dtype": spec.dtype.name}
    if isinstance(spec, tf.SparseTensorSpec):
        return {"sparse": plain}
    if isinstance(spec, tf.RaggedTensorSpec):
        return {"ragged": {**plain, "ragged_rank": spec.ragged_rank}}
    if isinstance(spec, tf.TensorSpec):
        return {"dense": plain}
    raise TypeError(f"an input must be a tensor. Received: {spec}")


_KINDS = {
    "constant": lambda value: value,
    "dict": lambda items: {key: _structure(each) for key, each in items},
    "list": lambda items: [_structure(each) for each in items],
    "tuple": lambda items: tuple(_structure(each) for each in items),
    "dense": lambda spec: tf.TensorSpec(**spec),
    "sparse": lambda spec: tf.SparseTensorSpec(**spec),
    "ragged": lambda spec: tf.RaggedTensorSpec(**spec),
}


def _structure(plain: dict[str, Any]) -> Any:
    [(kind, value)] = plain.items()
    return _KINDS[kind](value)
