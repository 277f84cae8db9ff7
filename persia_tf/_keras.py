"""Chooses the Keras that the package uses: the same as `tf.keras`.

This is tf_keras if the environment has `TF_USE_LEGACY_KERAS=1`, otherwise Keras 3.10 or
later, whose backend must be TensorFlow. Other modules import `keras` from here.
"""

import importlib.util
import os
import re
from typing import Any

import tensorflow as tf

_BACKEND = "tensorflow"
# Older ones count a step before they call the constraints of its weights, which commit
# rows, and have no ragged symbolic tensors.
_OLDEST_KERAS_3 = (3, 10)


def _check_environment() -> None:
    """Raises ImportError if TensorFlow or the package cannot use the chosen Keras.

    Without this check, `tf.keras` fails with a RecursionError if tf_keras is missing,
    and a model fails in its first step if Keras has another backend.
    """
    # As TensorFlow reads the variable.
    legacy = os.environ.get("TF_USE_LEGACY_KERAS")
    if legacy not in ("1", "true", "True"):
        _check_backend(_backend())
    elif importlib.util.find_spec("tf_keras") is None:
        raise ImportError(
            "TF_USE_LEGACY_KERAS=1 needs `pip install tf_keras`; to use Keras 3, unset "
            f"the variable. Received: TF_USE_LEGACY_KERAS={legacy}, but the package "
            "tf_keras is not installed"
        )


def _backend() -> str:
    try:
        import keras
    except ImportError:
        # Keras fails to import if the package of its backend is not installed.
        named = os.environ.get("KERAS_BACKEND") or _BACKEND
        if named == _BACKEND:
            raise
        return named
    return keras.backend.backend()


def _check_backend(backend: str) -> None:
    if backend != _BACKEND:
        raise ImportError(
            "persia_tf needs Keras with the backend tensorflow: set "
            "KERAS_BACKEND=tensorflow before Keras is imported (or unset it, if "
            "~/.keras/keras.json names tensorflow). "
            f"Received: the backend {backend}"
        )


def _check_version(version: str) -> None:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < _OLDEST_KERAS_3:
        oldest = ".".join(map(str, _OLDEST_KERAS_3))
        raise ImportError(
            f"persia_tf needs Keras {oldest} or later: `pip install 'keras>={oldest}'`"
            f". Received: Keras {version}"
        )


_check_environment()

# If `tf.keras` is tf_keras, it has no `__version__`.
IS_KERAS_3: bool = getattr(tf.keras, "__version__", "2").startswith("3.")

# `tf.keras` is not used, since it lacks some modules of Keras's own package.
if IS_KERAS_3:
    import keras

    _check_version(keras.__version__)
else:
    import tf_keras as keras

# Arguments of `add_weight` that keep a weight out of mixed precision.
NO_AUTOCAST: dict[str, Any] = (
    {"autocast": False} if IS_KERAS_3 else {"experimental_autocast": False}
)


__all__ = [
    "IS_KERAS_3",
    "NO_AUTOCAST",
    "keras",
    "logical_and",
    "not_equal",
    "refuse_tensor_of_other_keras",
]


def refuse_tensor_of_other_keras(tensor: Any, layer: str) -> None:
    """Raises TypeError if `tensor` is a symbolic tensor of the other Keras."""
    other = "tf_keras" if IS_KERAS_3 else "keras"
    if type(tensor).__module__.partition(".")[0] != other:
        return
    used, remedy = (
        ("Keras 3", "Set TF_USE_LEGACY_KERAS=1 in the environment before Python starts")
        if IS_KERAS_3
        else ("tf_keras", "Unset TF_USE_LEGACY_KERAS, or `import tf_keras as keras`")
    )
    raise TypeError(
        f"layer '{layer}' is a layer of {used}, which tf.keras is in this process, "
        f"but its input is a tensor of {other}: one model cannot mix both. {remedy}. "
        f"Received: {tensor!r}"
    )


def logical_and(x: Any, y: Any) -> Any:
    """Returns `x & y` for each element, also for Keras 3's symbolic tensors."""
    if IS_KERAS_3 and any(isinstance(each, keras.KerasTensor) for each in (x, y)):
        return keras.ops.logical_and(x, y)
    return tf.logical_and(x, y)


def not_equal(x: Any, y: Any) -> Any:
    """Returns `x != y` for each element, also for Keras 3's symbolic tensors."""
    if not IS_KERAS_3 or not isinstance(x, keras.KerasTensor):
        return tf.not_equal(x, y)
    if x.dtype == "string":
        return _StringNotEqual(y)(x)
    return keras.ops.not_equal(x, y)


if IS_KERAS_3:

    @keras.saving.register_keras_serializable(package="persia_tf")
    class _StringNotEqual(keras.Operation):
        """`x != y` for strings: Keras's own operation compares numbers only."""

        def __init__(self, y: str, **options: Any) -> None:
            super().__init__(**options)
            self.y = y

        def call(self, x: Any) -> Any:
            return tf.not_equal(x, self.y)

        def compute_output_spec(self, x: Any) -> Any:
            return keras.KerasTensor(x.shape, "bool", ragged=x.ragged)

        def get_config(self) -> dict[str, Any]:
            return {"name": self.name, "y": self.y}
