"""Copies the state of a layer to its clone."""

from __future__ import annotations

import tempfile
from typing import Any

from persia_tf.saving.contexts import rows_stay


def copy_state(layer: Any, clone: Any) -> None:
    """Copies the weights of a layer, and all other state that Keras saves.

    The state is copied by the hooks with which Keras saves layers, so that vocabularies
    and statistics are copied too. The rows of a `PersiaEmbedding` are not copied, since
    its clone uses the same table.

    Args:
        layer: A built layer.
        clone: A built layer that was created from the config of `layer`.

    Raises:
        ValueError: if the clone contains more or fewer layers than `layer`.
    """
    inside, clone_inside = list(layer._flatten_layers()), list(clone._flatten_layers())
    _check_same(layer, inside, clone_inside)
    with rows_stay():
        for inner, inner_clone in zip(inside, clone_inside):
            _copy_own_state(inner, inner_clone)


def _copy_own_state(layer: Any, clone: Any) -> None:
    clone.trainable = layer.trainable
    store: dict[str, Any] = {}
    layer.save_own_variables(store)
    clone.load_own_variables(store)
    if hasattr(layer, "save_assets"):
        with tempfile.TemporaryDirectory() as folder:
            layer.save_assets(folder)
            clone.load_assets(folder)


def _check_same(layer: Any, inside: list[Any], clone_inside: list[Any]) -> None:
    if len(inside) == len(clone_inside):
        return
    raise ValueError(
        f"layer '{layer.name}' ({type(layer).__name__}) cannot be copied: a copy that "
        "is made from its config, and built, must contain the same layers. Create "
        "its inner layers in its constructor or in `build`. "
        f"Received: {_names(inside)}, and in the copy {_names(clone_inside)}"
    )


def _names(layers: list[Any]) -> list[str]:
    return [type(layer).__name__ for layer in layers]
