"""The batches of a sample, and the ids that a model looks up for each."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.data.lookup_trace import LookupTrace
from persia_tf.ops.recording import RecordedLookup

_CALLER = "ptf.plan"

# The lookups of a model, and the function that returns their ids for a batch.
_Trace = tuple[Sequence[RecordedLookup], Callable[[Any], Any]]


@dataclasses.dataclass(frozen=True)
class LookedUp:
    """What one lookup of a model requests for one batch.

    Attributes:
        ids: int64, of rank 1, as the layer gets them: with repeats.
        bags: How many vectors its bags become; 0 for a lookup of one vector per id.
    """

    ids: np.ndarray
    bags: int


class Batches:
    """The batches of a sample, each with the ids that the model looks up for it.

    No op of the model runs but those that compute ids, and no row is created.

    Args:
        model: A Keras model. It is built if it was not, which creates its tables.
        sample: A `tf.data.Dataset`, or an iterable, of batches as `fit` takes them.
        steps: At most how many batches are read; None for all.

    Attributes:
        not_taken: The features of the batches read until now that are no inputs of the
            model.

    Raises:
        TypeError: if `sample` is not iterable.
        ValueError: if `sample` has no end and there are no `steps`.
    """

    def __init__(self, model: Any, sample: Any, steps: int | None) -> None:
        self.not_taken: set[str] = set()
        self._model = model
        self._sample = _checked(sample, steps)
        self._steps = steps
        self._traces: dict[str, _Trace] = {}

    def lookups(self) -> Iterator[tuple[int, list[tuple[RecordedLookup, LookedUp]]]]:
        """Yields each batch's number of examples, and its lookups.

        Raises:
            ValueError: if the model has no lookups, or cannot be called with a batch.
        """
        for element in itertools.islice(self._sample, self._steps):
            inputs = self._inputs(element)
            lookups, ids_of = self._trace(inputs)
            found = zip(lookups, _computed(ids_of, inputs))
            yield (
                _examples(inputs),
                [(lookup, _looked_up(lookup, *ids)) for lookup, ids in found],
            )

    def _inputs(self, element: Any) -> Any:
        inputs = _inputs_of(element)
        names = _names_of_inputs(self._model)
        if names and isinstance(inputs, Mapping):
            _check_names(names, inputs)
            self.not_taken.update(map(str, set(inputs) - names))
        try:
            return tf.nest.map_structure(_as_tensor, inputs)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "the batches of `sample` must be arrays or tensors, or dicts or tuples "
                f"of them, as `fit` takes them. Received: {type(inputs).__name__}, "
                f"which does not convert: {error}"
            ) from error

    def _trace(self, inputs: Any) -> _Trace:
        """Returns the trace of batches with such inputs: usually the only one."""
        spec = tf.nest.map_structure(_spec_of, inputs)
        key = str(spec)
        if key not in self._traces:
            trace = LookupTrace(self._model, (spec,), _CALLER, "sample")
            # Called directly, the trace formats all inputs as text at each call.
            ids_of = tf.function(
                lambda inputs: trace.ids((inputs,)), input_signature=[spec]
            )
            self._traces[key] = trace.lookups, ids_of
        return self._traces[key]


def _checked(sample: Any, steps: int | None) -> Iterable[Any]:
    refused = (str, bytes, Mapping, tuple)
    if isinstance(sample, refused) or not isinstance(sample, Iterable):
        hint = ": call it, and give what it returns" if callable(sample) else ""
        raise TypeError(
            "`sample` must be a tf.data.Dataset or another iterable of batches, each "
            "as `fit` takes it: x, (x, y) or (x, y, sample_weight). Give a single "
            "batch as [batch]. Received: sample of type "
            f"{type(sample).__name__}{hint}"
        )
    if isinstance(sample, (np.ndarray, tf.Tensor)):
        raise TypeError(
            "`sample` must be batches, and an array is one: give [array], or "
            "tf.data.Dataset.from_tensor_slices(array).batch(n). Received: sample of "
            f"type {type(sample).__name__} and shape {tuple(sample.shape)}"
        )
    if steps is None and isinstance(sample, tf.data.Dataset):
        if sample.cardinality().numpy() == tf.data.INFINITE_CARDINALITY:
            raise ValueError(
                "`sample` is a dataset without an end, so `steps` must say how many of "
                "its batches to read, such as steps=1000. Received: steps=None"
            )
    return sample


def _inputs_of(element: Any) -> Any:
    """Returns the inputs of a batch, without its labels and weights."""
    try:
        inputs, *_ = keras.utils.unpack_x_y_sample_weight(element)
    except (TypeError, ValueError) as error:
        size = f" with {len(element)} elements" if isinstance(element, tuple) else ""
        raise ValueError(
            "the batches of `sample` must be x, (x, y) or (x, y, sample_weight), as "
            "`fit` takes them: if `x` has several features, make it a dict or a tuple "
            f"of its own. Received: {type(element).__name__}{size}"
        ) from error
    return inputs


def _names_of_inputs(model: Any) -> set[str]:
    """Returns the names of a model's inputs.

    Only models that are built of named inputs tell these.
    """
    struct = getattr(model, "_inputs_struct", None)  # Of Keras 3.
    if isinstance(struct, Mapping):
        return set(struct)
    if struct is not None:
        return {each.name for each in tf.nest.flatten(struct)}
    return set(getattr(model, "input_names", None) or [])


def _check_names(names: set[str], inputs: Mapping[str, Any]) -> None:
    """Raises ValueError if a batch lacks a feature that is an input of the model."""
    absent = names - set(inputs)
    if absent:
        raise ValueError(
            "the batches of `sample` must have the features that are the model's "
            f"inputs, {sorted(names)}: add the ones that are absent, or plan with the "
            f"model that `fit` will train on this data. Absent: {sorted(absent)}. "
            f"Received: features {sorted(map(str, inputs))}"
        )


def _as_tensor(value: Any) -> Any:
    if isinstance(value, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
        return value
    return tf.convert_to_tensor(value)


def _spec_of(tensor: Any) -> tf.TypeSpec:
    """Returns the spec of such tensors of any number of examples."""
    if isinstance(tensor, tf.RaggedTensor):
        return tf.RaggedTensorSpec(
            [None, *tensor.shape[1:]], tensor.dtype, tensor.ragged_rank
        )
    if isinstance(tensor, tf.SparseTensor):
        return tf.SparseTensorSpec([None] * tensor.shape.rank, tensor.dtype)
    if tensor.shape.rank == 0:
        raise ValueError(
            "the batches of `sample` must have a first axis, over examples. Received: "
            f"a scalar of dtype {tensor.dtype.name}: if `sample` is a dataset of "
            "examples, call `sample.batch(n)` first"
        )
    return tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype)


def _computed(ids_of: Callable[[Any], Any], inputs: Any) -> Any:
    """Returns the ids of each lookup for a batch."""
    try:
        return ids_of(inputs)
    except tf.errors.OpError as error:
        dtypes = tf.nest.map_structure(lambda each: each.dtype.name, inputs)
        raise ValueError(
            "the batches of `sample` must have the dtypes and values that `fit` will "
            "get: the model could not compute its ids for one of them. Received: "
            f"dtypes {dtypes}. The model's error: {error.message}"
        ) from error


def _examples(inputs: Any) -> int:
    first = tf.nest.flatten(inputs)[0]
    if isinstance(first, tf.RaggedTensor):
        return int(first.nrows())
    if isinstance(first, tf.SparseTensor):
        return int(first.dense_shape[0])
    return int(first.shape[0])


def _looked_up(lookup: RecordedLookup, ids: tf.Tensor, splits: tf.Tensor) -> LookedUp:
    if lookup.combiner == "none":
        bags = 0
    elif int(tf.size(splits)):
        bags = int(tf.size(splits)) - 1
    else:  # Each innermost row of the ids is a bag.
        bags = int(np.prod(ids.shape[:-1]))
    return LookedUp(ids.numpy().reshape(-1), bags)
