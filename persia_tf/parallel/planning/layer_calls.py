"""With which inputs a model calls its layers."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.ops.gradients import without_gradients
from persia_tf.ops.recording import recording
from persia_tf.parallel.first_tensor import first_tensor


class LayerCall(NamedTuple):
    """The first call of a layer, with a `tf.TensorSpec` for a tensor.

    Attributes:
        args: The arguments.
        kwargs: The arguments.
        examples: The size of the first axis, if it is known.
        times: How often a step calls the layer.
        is_first: Whether the inputs follow from the data alone, so that no gradients of
            them are needed.
    """

    args: Any
    kwargs: Any
    examples: int | None
    times: int = 1
    is_first: bool = False

    @property
    def is_known(self) -> bool:
        """Whether all sizes are known before the model runs."""
        return all(
            each.shape.is_fully_defined()
            for each in tf.nest.flatten((self.args, self.kwargs))
            if isinstance(each, tf.TensorSpec)
        )


def layer_calls(model: Any, layers: Sequence[Any], specs: Any) -> dict[int, LayerCall]:
    """Returns how a model calls some layers.

    The model is traced; no operation runs, and no rows are looked up.

    Args:
        model: A built Keras model.
        layers: Layers of the model.
        specs: The model's inputs, from `input_specs`.

    Returns:
        The first call of each layer that is called, by the `id` of the layer, in the
        order of the calls.
    """
    calls: dict[int, LayerCall] = {}

    def call(inputs: Any) -> None:
        with recording() as recorder, without_gradients():
            model(inputs, training=True)
        if recorder.lookups:
            # Rows are constants here, but they are trained.
            for key, each in calls.items():
                calls[key] = each._replace(is_first=False)

    with contextlib.ExitStack() as replaced:
        for layer in layers:
            replaced.enter_context(_recording_call(layer, calls))
        tf.function(call, autograph=False).get_concrete_function(specs)
    return calls


@contextlib.contextmanager
def _recording_call(layer: Any, calls: dict[int, LayerCall]) -> Iterator[None]:
    call = layer.call

    @tf.autograph.experimental.do_not_convert
    def record(*args: Any, **kwargs: Any) -> Any:
        if id(layer) not in calls:
            given = _first_by_place(call, args, kwargs)
            specs = tf.nest.map_structure(_spec_of, given)
            first = first_tensor(inspect.signature(call), *specs)
            is_first = not _has_weights(given)
            calls[id(layer)] = LayerCall(*specs, first.shape[0], is_first=is_first)
        else:
            first = calls[id(layer)]
            calls[id(layer)] = first._replace(times=first.times + 1)
        return call(*args, **kwargs)

    layer.call = record
    try:
        yield
    finally:
        del layer.__dict__["call"]


def _has_weights(values: Any) -> bool:
    """Returns whether tensors of a graph depend on variables."""
    flat = tf.nest.flatten(values)
    waiting = [each.op for each in flat if isinstance(each, tf.Tensor)]
    seen = set(waiting)
    while waiting:
        inputs = waiting.pop().inputs
        if any(each.dtype == tf.resource for each in inputs):
            return True
        new = {each.op for each in inputs} - seen
        seen |= new
        waiting += new
    return False


def _first_by_place(call: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Returns arguments of a call, the first of which is not passed by its name."""
    if args:
        return args, kwargs
    arguments = inspect.signature(call).bind(**kwargs).arguments
    first = next(iter(arguments))
    others = {name: value for name, value in kwargs.items() if name != first}
    return (kwargs[first],), others


def _spec_of(value: Any) -> Any:
    if isinstance(value, tf.Tensor):
        return tf.TensorSpec(value.shape, value.dtype)
    return value


def input_specs(model: Any, inputs: Any, batch_size: int) -> Any:
    """Returns the inputs of a model for a batch, as a nest of `tf.TensorSpec`s.

    Args:
        model: A built Keras model.
        inputs: A batch of what the model is called with, of any size; needed if the
            model is neither functional nor sequential, or if an input has an axis of
            unknown size besides that of the examples.
        batch_size: The number of examples.

    Raises:
        ValueError: if `inputs` is needed.
    """
    return _with_batch(_input_specs(model, inputs), batch_size)


def random_of(value: Any) -> Any:
    """Returns random numbers, or zeros of an integer type, for a `tf.TensorSpec`."""
    if not isinstance(value, tf.TensorSpec):
        return value
    if value.dtype.is_floating:
        return tf.cast(tf.random.stateless_normal(value.shape, (1, 2)), value.dtype)
    return tf.zeros(value.shape, value.dtype)


def _input_specs(model: Any, inputs: Any) -> Any:
    if inputs is not None:
        return tf.nest.map_structure(tf.type_spec_from_value, _as_tensors(inputs))
    symbolic = _symbolic_inputs(model)
    if symbolic is None:
        raise ValueError(
            "`inputs` must be given for a model that is neither functional nor "
            "sequential: pass a batch of what the model is called with. "
            f"Received: model={model!r}, inputs=None"
        )
    tree = keras.tree if IS_KERAS_3 else tf.nest
    return tree.map_structure(_sized_spec_of, symbolic)


def _symbolic_inputs(model: Any) -> Any:
    """Returns the structure of a functional or sequential model's inputs, or None."""
    if not IS_KERAS_3:
        return getattr(model, "_nested_inputs", None)
    functional = getattr(model, "_functional", None) or model
    return getattr(functional, "_inputs_struct", None)


def _as_tensors(inputs: Any) -> Any:
    return tf.nest.map_structure(tf.convert_to_tensor, inputs)


def _sized_spec_of(symbolic: Any) -> Any:
    spec = _spec_of_symbolic(symbolic)
    if isinstance(spec, tf.TensorSpec) and not spec.shape[1:].is_fully_defined():
        raise ValueError(
            "`inputs` must be given if an input of the model has an axis of unknown "
            "size besides that of the examples: pass a batch of what the model is "
            f"called with, of typical sizes. Received: the input {symbolic.name} of "
            f"the shape {spec.shape}, inputs=None"
        )
    return spec


def _spec_of_symbolic(symbolic: Any) -> Any:
    if not IS_KERAS_3:
        return symbolic.type_spec
    kind = tf.SparseTensorSpec if getattr(symbolic, "sparse", False) else tf.TensorSpec
    return kind(symbolic.shape, symbolic.dtype)


def _with_batch(specs: Any, batch_size: int) -> Any:
    def with_batch(spec: Any) -> Any:
        if not isinstance(spec, tf.TensorSpec) or not spec.shape.rank:
            return spec
        return tf.TensorSpec([batch_size, *spec.shape[1:]], spec.dtype)

    return tf.nest.map_structure(with_batch, specs)
