"""A signature of a SavedModel: checks its inputs and runs it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from persia_tf import errors
from persia_tf.model_server.shown import shown

# Exports use this suffix in the name of a ragged tensor's row splits, whose length is
# not the batch size.
_RAGGED_PART = "_row_splits"

# TensorFlow and Python convert strings one by one while they hold the interpreter's
# lock. Converting at most this many strings at a time lets other threads run meanwhile.
_STRINGS_AT_ONCE = 1 << 12

# If a request's names exceed the signature's inputs by more than this number, the error
# message states only the number of names, since sorting the names takes time.
_MORE_NAMES = 16

Arrays = Mapping[str, np.ndarray]


class Spec(NamedTuple):
    """The dtype and shape of one tensor of a signature.

    Attributes:
        dtype: The tensor's dtype.
        shape: The sizes of the tensor's axes, None for an axis of any size; or None
            instead of the tuple if the number of axes is unknown.
    """

    dtype: tf.DType
    shape: Optional[tuple[Optional[int], ...]]  # noqa: UP045 (evaluated in 3.9)

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype.name} of any shape"
        sizes = ", ".join("any" if size is None else str(size) for size in self.shape)
        return f"{self.dtype.name} of shape ({sizes})"

    def takes(self, array: np.ndarray) -> bool:
        """Whether an array has this dtype, and a shape that matches this shape."""
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
        """Whether the tensor's first axis may have any length, as a batch axis does."""
        return self.shape is not None and self.shape[:1] == (None,)


class Signature:
    """Runs one signature on NumPy arrays. Thread-safe.

    Args:
        name: The signature's name.
        function: The function that `tf.saved_model.load` returned for the signature.
        definition: The signature's `SignatureDef` in the SavedModel.

    Attributes:
        name: The signature's name.
        definition: The `SignatureDef`.
        inputs: The specs of the signature's inputs, by name.
        outputs: The specs of the signature's outputs, by name.
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
        """Raises InvalidArgumentError unless `arrays` match the signature's inputs."""
        self.check_names(arrays)
        for name, spec in self.inputs.items():
            array = arrays[name]
            if not spec.takes(array):
                came = Spec(_dtype_of(array), array.shape)
                raise errors.InvalidArgumentError(
                    f"input {name!r} of signature {self.name!r} must be {spec}. "
                    f"Received: {came}"
                )

    def check_count(self, count: int) -> None:
        """Raises InvalidArgumentError if `count` far exceeds the number of inputs.

        This refuses a request with very many names quickly, without reading the names.
        """
        if count > len(self.inputs) + _MORE_NAMES:
            raise errors.InvalidArgumentError(
                f"the number of inputs of signature {self.name!r} is "
                f"{len(self.inputs)}. Received: {count}"
            )

    def check_names(self, names: Collection[str]) -> None:
        """Raises InvalidArgumentError unless `names` are exactly the inputs' names."""
        self.check_count(len(names))
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
        """Returns the batch size of a request's arrays.

        Returns None if the request cannot be joined with others into a batch.
        """
        if not self._joins or not arrays:
            return None
        lengths = {len(array) for array in arrays.values()}
        return lengths.pop() if len(lengths) == 1 else None

    def check_filter(self, names: Iterable[str]) -> None:
        """Raises InvalidArgumentError unless `names` are outputs, each named once."""
        seen: set[str] = set()
        for name in names:
            if name not in self.outputs or name in seen:
                raise errors.InvalidArgumentError(
                    f"the output filter must name outputs of signature {self.name!r}, "
                    f"each once: {sorted(self.outputs)}. Received: {shown(name)}"
                )
            seen.add(name)

    def run(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Returns the model's outputs, by name, for arrays that `check` accepted.

        Raises:
            PersiaError: If the model fails. The error has TensorFlow's code and
                message.
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
    """Returns the message of a TensorFlow error, without the names of graph nodes."""
    lines = error.message.partition("[[{{")[0].split("\n")
    told = [line.strip() for line in lines if line.strip()]
    # The last line is the message; the lines before it tell where the error occurred.
    return told[-1] if told else type(error).__name__


def _specs(tensors: Mapping[str, Any]) -> dict[str, Spec]:
    return {name: _spec(name, tensors[name]) for name in sorted(tensors)}


def _spec(name: str, info: Any) -> Spec:
    if info.WhichOneof("encoding") != "name":
        raise errors.InvalidArgumentError(
            f"tensor {name!r} of a signature must be dense, or have dense parts: one "
            f"that is {info.WhichOneof('encoding')} cannot be served"
        )
    dtype = tf.as_dtype(info.dtype)
    if not dtype.is_numpy_compatible:
        raise errors.InvalidArgumentError(
            f"tensor {name!r} must have values: one of dtype {dtype.name}, which is a "
            "handle, cannot be served"
        )
    shape = info.tensor_shape
    sizes = None
    if not shape.unknown_rank:
        sizes = tuple(None if dim.size < 0 else dim.size for dim in shape.dim)
    return Spec(dtype, sizes)


def _dtype_of(array: np.ndarray) -> tf.DType:
    return tf.string if array.dtype == object else tf.as_dtype(array.dtype)
