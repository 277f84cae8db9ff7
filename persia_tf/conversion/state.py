"""Copies what a layer has learnt to a clone of it."""

from __future__ import annotations

import tempfile
from typing import Any


def copy_state(layer: Any, clone: Any) -> None:
    """Copies the weights of a layer, and what else Keras saves of it.

    By the hooks that Keras saves layers with, so that vocabularies and statistics
    come along.

    Args:
        layer: A layer that is built.
        clone: Made from its config, and built.
    """
    pairs = zip(layer._flatten_layers(), clone._flatten_layers())
    for inner, inner_clone in pairs:
        inner_clone.trainable = inner.trainable
        store: dict[str, Any] = {}
        inner.save_own_variables(store)
        inner_clone.load_own_variables(store)
        if hasattr(inner, "save_assets"):
            with tempfile.TemporaryDirectory() as folder:
                inner.save_assets(folder)
                inner_clone.load_assets(folder)
