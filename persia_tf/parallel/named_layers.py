"""Names for the layers of a model, including those within other layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from persia_tf.parallel.splitting.splittable import splittable_of


def splittable_layers(model: Any) -> Iterator[tuple[str, Any]]:
    """Yields the layers of a model that can be divided, with their names.

    Args:
        model: A Keras model, or a layer.

    Yields:
        Pairs of a name and a layer. The name joins the names of the layers that contain
        the layer with its own by "/". A layer that occurs in several places is yielded
        once, and layers within a layer that can be divided are not yielded.
    """
    yield from _named("", model, set())


def _named(prefix: str, layer: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    for each in layer._flatten_layers(recursive=False, include_self=False):
        if id(each) in seen:
            continue
        seen.add(id(each))
        splittable = splittable_of(each)
        if splittable is not None and splittable.axes(each):
            yield prefix + each.name, each
        else:
            yield from _named(f"{prefix}{each.name}/", each, seen)
