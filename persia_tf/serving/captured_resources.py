"""Resources that traced functions use, for a SavedModel to hold them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

_Resource = tf.saved_model.experimental.TrackableResource


def captured_resources(functions: Iterable[Any], module: tf.Module) -> list[Any]:
    """Returns the objects of which functions use resources, such as hash tables.

    TensorFlow writes no SavedModel that uses a resource whose object is no part of it.
    Layers such as `StringLookup` do not tell of theirs, and a closure may have any. So
    what the functions captured says which ones there are, wherever they are kept.

    Args:
        functions: Concrete functions.
        module: What is to be a SavedModel. What it holds already is left out.

    Returns:
        Tables and variables, each once. A resource whose object is gone is left out:
        TensorFlow names it when it refuses.
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
    """All objects of this process that may have resources.

    TensorFlow knows no way from a handle to its object, and no attributes lead to what
    a closure has.
    """
    for each in gc.get_objects():
        # By its type: `isinstance` would ask proxies what they stand for.
        if issubclass(type(each), (_Resource, tf.Variable)):
            yield each


def _handles(owner: Any) -> Iterator[int]:
    """The handles of an object, each by its `id`."""
    if isinstance(owner, tf.Variable):
        # What a strategy made has one for each replica.
        yield from (id(each.handle) for each in getattr(owner, "values", [owner]))
    elif isinstance(owner, _Resource):
        # Not by `resource_handle`, which would make it where there is none yet.
        yield from map(id, vars(owner).values())
