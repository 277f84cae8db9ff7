"""Finds the resources that traced functions use, so that a SavedModel tracks them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

_Resource = tf.saved_model.experimental.TrackableResource


def captured_resources(functions: Iterable[Any], module: tf.Module) -> list[Any]:
    """Returns the objects that own the resources which functions captured.

    A SavedModel must track the object of each resource that it uses, such as a hash
    table: otherwise TensorFlow refuses to write the SavedModel. Layers such as
    `StringLookup` do not expose their tables, and a resource may be held only by a
    closure. So the resources are found from the captured inputs of the functions, and
    their objects by a search of all objects of this process.

    Args:
        functions: Concrete functions.
        module: The module that will be saved. Objects that the module tracks already
            are left out.

    Returns:
        Tables and variables, each once. A resource whose object was destroyed is left
        out: `tf.saved_model.save` fails then, with an error that names the resource.
    """
    wanted = {
        id(captured)
        for function in functions
        for captured in function.captured_inputs
        if captured.dtype == tf.resource
    }
    for held in tf.train.TrackableView(module).descendants():
        wanted.difference_update(_handles(held))
    if not wanted:
        return []
    return [owner for owner in _owners() if not wanted.isdisjoint(_handles(owner))]


def _owners() -> Iterator[Any]:
    """Yields all objects of this process that may own resources.

    All objects are searched, since TensorFlow cannot find the object that owns a given
    resource handle, and an object that only a closure holds is not reachable by
    attributes.
    """
    for each in gc.get_objects():
        # `isinstance` is not used, since it reads `__class__`, which would resolve
        # proxy objects.
        if issubclass(type(each), (_Resource, tf.Variable)):
            yield each


def _handles(owner: Any) -> Iterator[int]:
    """Yields the `id` of each resource handle that an object owns."""
    if isinstance(owner, tf.Variable):
        # A variable of a `tf.distribute` strategy has a handle for each replica.
        yield from (id(each.handle) for each in getattr(owner, "values", [owner]))
    elif isinstance(owner, _Resource):
        # The property `resource_handle` is not used, since it would create a handle for
        # an object that has none yet.
        yield from map(id, vars(owner).values())
