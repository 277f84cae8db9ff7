"""Names for the layers of a model, including those within other layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def named_layers(
    model: Any, is_whole: Callable[[Any], bool] = lambda layer: False
) -> Iterator[tuple[str, Any]]:
    """Yields the layers of a model that have no layers within, with their names.

    Args:
        model: A Keras model, or a layer.
        is_whole: Whether a layer is yielded itself, not the layers within.

    Yields:
        Pairs of a name and a layer. The name joins the names of the layers that contain
        the layer with its own by "/". A layer that occurs in several places is yielded
        once.
    """
    seen: set[int] = set()
    yield from _named("", model, is_whole, seen)


def _named(
    prefix: str, layer: Any, is_whole: Callable[[Any], bool], seen: set[int]
) -> Iterator[tuple[str, Any]]:
    for each in layer._flatten_layers(recursive=False, include_self=False):
        if id(each) in seen:
            continue
        seen.add(id(each))
        name = prefix + each.name
        within = list(each._flatten_layers(recursive=False, include_self=False))
        if within and not is_whole(each):
            yield from _named(f"{name}/", each, is_whole, seen)
        else:
            yield name, each
