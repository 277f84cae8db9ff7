"""The calls of layers that a Functional model consists of, for both Keras versions.

Keras records each call as a node: the layer, its arguments and its outputs.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras

_tree = keras.tree if IS_KERAS_3 else tf.nest


def calls_of(model: Any) -> list[Any]:
    """Returns the nodes of a Functional model, each after those that it depends on."""
    by_depth = model._nodes_by_depth
    nodes = [
        node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]
    ]
    return [node for node in nodes if not node.is_input]


def layer_of(node: Any) -> Any:
    """Returns the layer, or the operation of Keras 3, that a node calls."""
    return node.operation if IS_KERAS_3 else node.layer


def inputs_of(node: Any) -> list[Any]:
    """Returns the symbolic tensors among the arguments of a node."""
    return list(node.input_tensors if IS_KERAS_3 else node.keras_inputs)


def outputs_of(node: Any) -> list[Any]:
    """Returns the symbolic tensors that a node returns."""
    return _tree.flatten(node.outputs)


def call_again(node: Any, layer: Any, tensors: dict[int, Any]) -> None:
    """Calls a layer as a node does, on other tensors, and adds what it returns.

    Args:
        node: The node.
        layer: The layer that is called in place of the node's.
        tensors: The tensors that stand for others, by the `id` of those.
    """
    if IS_KERAS_3:
        args, kwargs = node.arguments.fill_in(tensors)
    else:
        args, kwargs = replaced((node.call_args, node.call_kwargs), tensors)
    outputs = _tree.flatten(layer(*args, **kwargs))
    tensors.update(zip(map(id, outputs_of(node)), outputs))


def replaced(structure: Any, tensors: dict[int, Any]) -> Any:
    """Returns a nested structure with other tensors in place of those that it has.

    Args:
        structure: Tensors and other values in lists, dicts and tuples.
        tensors: The tensors that stand for others, by the `id` of those.
    """
    return _tree.map_structure(lambda each: tensors.get(id(each), each), structure)
