"""A signature of a SavedModel: what it takes, checked, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from persia_tf import errors
from persia_tf.model_server.shown import shown

# How exports name a part of a ragged tensor, whose length is not the batch's.
_RAGGED_PART = "_row_splits"

# TensorFlow and Python copy strings one by one, and all of the interpreter's threads
# wait meanwhile: they have their turns between so many.
_STRINGS_AT_ONCE = 1 << 12

Arrays = Mapping[str, np.ndarray]


class Spec(NamedTuple):
    """What one tensor of a signature is.

    Attributes:
        dtype: Its type.
        shape: Its dimensions, None for any; None altogether where any rank will do.
    """

    dtype: tf.DType
    shape: Optional[tuple[Optional[int], ...]]  # noqa: UP045 (evaluated in 3.9)

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype.name} of any shape"
        sizes = ", ".join("any" if size is None else str(size) for size in self.shape)
        return f"{self.dtype.name} of shape ({sizes})"

    def takes(self, array: np.ndarray) -> bool:
        """Whether an array has the type, the rank and the sizes."""
        if array.dtype != self.dtype.as_numpy_dtype:
            return False
        if self.shape is None:
            return True
        return len(self.shape) == array.ndim and all(
            size is None or size == length
            for size, length in zip(self.shape, array.shape)
        )

    @property
    def has_examples(self) -> bool:
        """Whether its first axis may be of any length, as that of a batch is."""
        return self.shape is not None and self.shape[:1] == (None,)


class Signature:
    """Calls one signature with arrays, and gives arrays. Thread-safe.

    Args:
        name: The signature's.
        function: What `tf.saved_model.load` gives for it.
        definition: What the SavedModel says of it: a `SignatureDef`.

    Attributes:
        name: The signature's name.
        definition: As given.
        inputs: What it takes, by name.
        outputs: What it gives, by name.
    """

    def __init__(
        self, name: str, function: Callable[..., Mapping[str, Any]], definition: Any
    ) -> None:
        self.name = name
        self.definition = definition
        self.inputs = _specs(definition.inputs)
        self.outputs = _specs(definition.outputs)
        self._function = function
        tensors = [*self.inputs.values(), *self.outputs.values()]
        self._joins = all(spec.has_examples for spec in tensors) and not any(
            _RAGGED_PART in tensor for tensor in (*self.inputs, *self.outputs)
        )

    def check(self, arrays: Arrays) -> None:
        """Raises InvalidArgumentError unless it takes these arrays."""
        self.check_names(arrays)
        for name, spec in self.inputs.items():
            array = arrays[name]
            if not spec.takes(array):
                came = Spec(_dtype_of(array), array.shape)
                raise errors.InvalidArgumentError(
                    f"input {name!r} of signature {self.name!r} must be {spec}. "
                    f"Received: {came}"
                )

    def check_names(self, names: Collection[str]) -> None:
        """Raises InvalidArgumentError unless these are the names of all inputs."""
        wanted, given = set(self.inputs), set(names)
        if wanted == given:
            return
        differences = (("missing", wanted - given), ("unknown", given - wanted))
        told = "; ".join(
            f"{what}: {shown(sorted(names))}" for what, names in differences if names
        )
        raise errors.InvalidArgumentError(
            f"signature {self.name!r} takes the inputs {sorted(wanted)}. "
            f"Received: {shown(sorted(given))}; {told}"
        )

    def examples(self, arrays: Arrays) -> int | None:
        """How many examples arrays have, if others can be joined to them."""
        if not self._joins or not arrays:
            return None
        lengths = {len(array) for array in arrays.values()}
        return lengths.pop() if len(lengths) == 1 else None

    def check_filter(self, names: Iterable[str]) -> None:
        """Raises InvalidArgumentError unless all are outputs, none of them twice."""
        seen: set[str] = set()
        for name in names:
            if name not in self.outputs or name in seen:
                raise errors.InvalidArgumentError(
                    f"the output filter must name outputs of signature {self.name!r}, "
                    f"each once: {sorted(self.outputs)}. Received: {shown(name)}"
                )
            seen.add(name)

    def run(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Returns what the model gives for arrays that were checked.

        Raises:
            PersiaError: If the model fails: with TensorFlow's code and message.
        """
        try:
            found = self._function(
                **{
                    name: _tensor(array, self.inputs[name].dtype)
                    for name, array in arrays.items()
                }
            )
            return {name: _array(found[name]) for name in self.outputs}
        except tf.errors.OpError as error:
            raise errors.from_code(
                error.error_code, f"the model failed: {told_by(error)}"
            ) from error


def _tensor(array: np.ndarray, dtype: tf.DType) -> tf.Tensor:
    if array.dtype != object or array.size <= _STRINGS_AT_ONCE:
        return tf.constant(array, dtype)
    flat = array.ravel()
    parts = [
        tf.constant(flat[begin : begin + _STRINGS_AT_ONCE], dtype)
        for begin in range(0, len(flat), _STRINGS_AT_ONCE)
    ]
    return tf.reshape(tf.concat(parts, 0), array.shape)


def _array(tensor: tf.Tensor) -> np.ndarray:
    if tensor.dtype != tf.string or tf.size(tensor) <= _STRINGS_AT_ONCE:
        return tensor.numpy()
    flat = tf.reshape(tensor, [-1])
    array = np.empty(len(flat), object)
    for begin in range(0, len(flat), _STRINGS_AT_ONCE):
        part = slice(begin, begin + _STRINGS_AT_ONCE)
        array[part] = flat[part].numpy()
    return array.reshape(tensor.shape)


def told_by(error: tf.errors.OpError) -> str:
    """Returns what an error of TensorFlow says, without the nodes of its graph."""
    lines = error.message.partition("[[{{")[0].split("\n")
    told = [line.strip() for line in lines if line.strip()]
    # The first lines say where, the last one says what.
    return told[-1] if told else type(error).__name__


def _specs(tensors: Mapping[str, Any]) -> dict[str, Spec]:
    return {name: _spec(name, tensors[name]) for name in sorted(tensors)}


def _spec(name: str, info: Any) -> Spec:
    if info.WhichOneof("encoding") != "name":
        raise errors.InvalidArgumentError(
            f"tensor {name!r} must be dense, or parts that are: one of a signature "
            f"that is {info.WhichOneof('encoding')} cannot be served"
        )
    dtype = tf.as_dtype(info.dtype)
    if not dtype.is_numpy_compatible:
        raise errors.InvalidArgumentError(
            f"tensor {name!r} must be of values: one of {dtype.name}, which is a "
            "handle, cannot be served"
        )
    shape = info.tensor_shape
    sizes = None
    if not shape.unknown_rank:
        sizes = tuple(None if dim.size < 0 else dim.size for dim in shape.dim)
    return Spec(dtype, sizes)


def _dtype_of(array: np.ndarray) -> tf.DType:
    return tf.string if array.dtype == object else tf.as_dtype(array.dtype)
