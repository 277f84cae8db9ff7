"""Tags: which layers the user wants divided, or not."""

from __future__ import annotations

import fnmatch
import weakref
from typing import Any, NamedTuple

from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.parallel.named_layers import splittable_layers
from persia_tf.parallel.splitting.splittable import splittable_of

PLACEMENTS = ("data", "model")


class Tag(NamedTuple):
    """The placement of a layer that a user asked for."""

    placement: str
    axis: str | None


_tags: weakref.WeakKeyDictionary[Any, Tag] = weakref.WeakKeyDictionary()


def tag(
    layer: Any, placement: str, *, axis: str | None = None, pattern: str | None = None
) -> None:
    """Says where a layer is computed, whatever a plan would choose for it.

    Call it before `ptf.parallel.plan`. A later tag replaces an earlier one.

    Example:

    ```python
    ptf.parallel.tag(model.get_layer("wide"), "model", axis="columns")
    ptf.parallel.tag(model, "data", pattern="tower_*/*")
    ```

    Args:
        layer: A layer; or, with `pattern`, a model or a layer that has layers within.
        placement: `"data"`: each worker has the whole layer; or `"model"`: the members
            of a group divide it.
        axis: The axis of the division, such as `"columns"`, if the placement is
            `"model"`. Defaults to None: the plan chooses it.
        pattern: Tags all layers within `layer` whose names match this pattern, with `*`
            and `?` as in file names. The name of a layer within others has the form
            "outer/inner", as the table of a plan shows it. Defaults to None.

    Raises:
        TypeError: if `layer` is not a layer.
        ValueError: if an argument is none of these values, if no layer matches the
            pattern, or if a layer cannot be divided, or not along the axis.
    """
    checks.one_of("placement", placement, PLACEMENTS)
    if axis is not None and placement != "model":
        raise ValueError(
            '`axis` needs the placement "model", since other layers are not divided. '
            f"Received: placement={placement!r}, axis={axis!r}"
        )
    for name, each in _tagged(layer, pattern):
        if axis is not None:
            check_axis(name, each, axis)
        elif placement == "model" and splittable_of(each) is None:
            raise ValueError(
                f"the layer {name} ({type(each).__name__}) cannot be divided, unless a "
                "`ptf.parallel.Splittable` says how. Received: placement='model'"
            )
        _tags[each] = Tag(placement, axis)


def tag_of(layer: Any) -> Tag | None:
    """Returns the tag of a layer, or None if it has none."""
    return _tags.get(layer)


def check_axis(name: str, layer: Any, axis: str) -> None:
    """Raises ValueError if a layer cannot be divided along an axis."""
    splittable = splittable_of(layer)
    axes = [] if splittable is None else list(splittable.axes(layer))
    if axis not in axes:
        known = f"one of {axes}" if axes else "none: this layer cannot be divided"
        raise ValueError(
            f"the axis of the layer {name} ({type(layer).__name__}) must be {known}. "
            f"Received: axis={axis!r}"
        )


def _tagged(layer: Any, pattern: str | None) -> list[tuple[str, Any]]:
    if not isinstance(layer, keras.layers.Layer):
        raise TypeError(f"`layer` must be a Keras layer. Received: layer={layer!r}")
    names = dict(splittable_layers(layer))
    if pattern is None:
        if names and splittable_of(layer) is None:
            raise ValueError(
                f"the layer {layer.name} ({type(layer).__name__}) cannot be divided "
                f"itself: pass `pattern` for its layers {list(names)}. Received: "
                "pattern=None"
            )
        return [(layer.name, layer)]
    found = [
        (name, each)
        for name, each in names.items()
        if fnmatch.fnmatchcase(name, pattern)
    ]
    if not found:
        raise ValueError(
            "`pattern` must match the name of a layer that can be divided: one of "
            f"{sorted(names)}. Received: pattern={pattern!r}"
        )
    return found
