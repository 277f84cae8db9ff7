"""A model's inputs and outputs by name, as in the signature of a SavedModel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf
from absl import logging

from persia_tf.layers.model_inputs import input_specs_of

_OUTPUT = "output"


class Inputs:
    """The inputs of a model as named tensors.

    An input is named by its key if the model is called with a dict, else by its own
    name. A ragged or sparse input becomes one tensor for each of its components: a
    ragged `x` becomes `x_values`, `x_row_splits`, `x_row_splits_1`, ...; a sparse `x`
    becomes `x_indices`, `x_values` and `x_dense_shape`. Names in a signature consist of
    letters, digits and underscores, and begin with a letter. Other names are changed as
    `tf.function` changes them, such as `a-b` to `a_b`, and the change is logged.

    Args:
        model: A Keras model.
        specs: What the model is called with: a structure of `tf.TensorSpec`,
            `tf.RaggedTensorSpec` or `tf.SparseTensorSpec`. None: the model's own
            inputs.

    Attributes:
        specs: The spec of each input, by the input's name.
        tensors: The `tf.TensorSpec` of each tensor, by the tensor's name.

    Raises:
        ValueError: if the inputs are neither given nor known from the model, or two
            tensors have the same name.
    """

    def __init__(self, model: Any, specs: Any = None) -> None:
        given = _inputs_of(model) if specs is None else specs
        self._structure = tf.nest.map_structure(_spec_of, given)
        self.specs: dict[str, tf.TypeSpec] = {}
        self.tensors: dict[str, tf.TensorSpec] = {}
        for name, spec in zip(_names(given), tf.nest.flatten(self._structure)):
            self.specs[name] = spec
            if _as_argument(name) != name:
                logging.info(
                    "input '%s' is '%s' in the signature", name, _as_argument(name)
                )
            for part, tensor in _parts(_as_argument(name), spec):
                self._add(part, tensor)

    def structure(self, tensors: Mapping[str, tf.Tensor]) -> Any:
        """Packs named tensors into the structure that the model is called with."""
        return tf.nest.pack_sequence_as(
            self._structure,
            [tensors[name] for name in self.tensors],
            expand_composites=True,
        )

    def structure_of_inputs(self, inputs: Mapping[str, Any]) -> Any:
        """Packs named inputs into the structure that the model is called with."""
        return tf.nest.pack_sequence_as(
            self._structure, [inputs[name] for name in self.specs]
        )

    def tensors_of(self, batch: Any) -> dict[str, tf.Tensor]:
        """Returns the tensors of a batch by name.

        Args:
            batch: Tensors, arrays, ragged or sparse tensors, in the structure that the
                model is called with.

        Raises:
            ValueError: if the structure, a shape or a dtype differs from the model's.
        """
        try:
            tf.nest.assert_same_structure(self._structure, batch, check_types=False)
            inputs = {
                name: _as_input(spec, value)
                for (name, spec), value in zip(
                    self.specs.items(), tf.nest.flatten(batch)
                )
            }
        except (TypeError, ValueError, tf.errors.InvalidArgumentError) as error:
            raise ValueError(
                "`warmup` must contain batches of the model's inputs, "
                f"{self._structure}: {error}"
            ) from error
        return {
            part: tensor
            for name, value in inputs.items()
            for part, tensor in _parts(_as_argument(name), value)
        }

    def _add(self, name: str, spec: tf.TensorSpec) -> None:
        if name in self.tensors:
            raise ValueError(
                f"`inputs` must have unique names. Received: {name!r} twice"
            )
        self.tensors[name] = tf.TensorSpec(spec.shape, spec.dtype, name=name)


def named_outputs(model: Any, outputs: Any) -> dict[str, tf.Tensor]:
    """Returns a model's outputs as dense tensors by name.

    Args:
        model: The Keras model. Its `output_names` are used if it has them.
        outputs: A tensor, or a sequence or a dict of tensors. A ragged or sparse tensor
            becomes one dense tensor for each of its components.

    Returns:
        A dict. Outputs without a name are called `"output"`, or `"output_0"` and so on.
    """
    if isinstance(outputs, Mapping):
        named = list(outputs.items())
    else:
        flat = tf.nest.flatten(outputs)
        names = getattr(model, "output_names", None) or []
        if len(names) != len(flat):
            names = [_OUTPUT] if len(flat) == 1 else _numbered(_OUTPUT, len(flat))
        named = list(zip(names, flat))
    return {
        part: tensor for name, output in named for part, tensor in _parts(name, output)
    }


def _inputs_of(model: Any) -> Any:
    inputs = _attribute(model, "input")
    if inputs is None:
        # A Sequential model of Keras 3 has `inputs`, but no `input`. Without an Input
        # layer, `inputs` have the shapes of the batch that the model was built with.
        # Then their batch size is fixed, and `inputs` are not used.
        of_sequential = _attribute(model, "inputs")
        if of_sequential and of_sequential[0].shape[0] is None:
            inputs = of_sequential[0] if len(of_sequential) == 1 else of_sequential
    if inputs is None:
        inputs = input_specs_of(model)
    if inputs is None:
        raise ValueError(
            "`inputs` must be given for this model, since it is neither Functional nor "
            "a Sequential with an Input, and was not called with exactly one argument. "
            "Give a structure of tf.TensorSpec, such as "
            '{"user": tf.TensorSpec((None,), "int64")}. Received: inputs=None'
        )
    return inputs


def _attribute(model: Any, name: str) -> Any:
    try:
        return getattr(model, name)
    except (AttributeError, RuntimeError, ValueError):
        # The class of the error depends on Keras's version.
        return None


def _spec_of(given: Any) -> tf.TypeSpec:
    if isinstance(given, tf.TypeSpec):
        return given
    of_tf_keras = getattr(given, "type_spec", None)
    if of_tf_keras is not None:
        return of_tf_keras
    shape, dtype = tf.TensorShape(given.shape), tf.as_dtype(given.dtype)
    if getattr(given, "ragged", False):
        return tf.RaggedTensorSpec(shape, dtype)
    if getattr(given, "sparse", False):
        return tf.SparseTensorSpec(shape, dtype)
    return tf.TensorSpec(shape, dtype)


def _as_input(spec: tf.TypeSpec, value: Any) -> Any:
    if isinstance(spec, tf.TensorSpec):
        value = tf.convert_to_tensor(value, spec.dtype)
    if not spec.is_compatible_with(value):
        raise ValueError(f"an input must match {spec}. Received: {value!r}")
    return value


def _names(structure: Any, key: str | None = None) -> Iterator[str]:
    """Yields the names of inputs, in the order of `tf.nest.flatten`."""
    if isinstance(structure, Mapping):
        for inner in sorted(structure):
            yield from _names(structure[inner], inner)
    elif isinstance(structure, (list, tuple)):
        names = [getattr(leaf, "name", None) for leaf in tf.nest.flatten(structure)]
        yield from (
            name or other
            for name, other in zip(names, _numbered(key or "input", len(names)))
        )
    else:
        yield key or getattr(structure, "name", None) or "input"


def _as_argument(name: str) -> str:
    """Returns the name to which `tf.function` changes an argument's name."""
    plain = "".join(letter if letter.isalnum() else "_" for letter in name)
    return plain if plain[:1].isalpha() else f"arg_{plain}"


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}_{number}" for number in range(count)]


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """Returns a tensor, or the components of a composite tensor, with their names."""
    if isinstance(value, (tf.Tensor, tf.TensorSpec)):
        return [(name, value)]
    parts = tf.nest.flatten(value, expand_composites=True)
    if isinstance(value, (tf.SparseTensor, tf.SparseTensorSpec)):
        suffixes = ["indices", "values", "dense_shape"]
    else:
        suffixes = ["values", "row_splits", *_numbered("row_splits", len(parts))[1:]]
    return [(f"{name}_{suffix}", part) for suffix, part in zip(suffixes, parts)]
