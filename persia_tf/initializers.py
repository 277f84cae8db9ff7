"""Keras's initializers, as texts for the native core."""

from typing import Any

from absl import logging

from persia_tf._keras import keras
from persia_tf.spec import format_spec

# Keras's class -> the core's name and the config entries that it uses.
_SUPPORTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "Zeros": ("zeros", ()),
    "Ones": ("ones", ()),
    "Constant": ("constant", ("value",)),
    "RandomUniform": ("uniform", ("minval", "maxval")),
    "RandomNormal": ("normal", ("mean", "stddev")),
    "TruncatedNormal": ("truncated_normal", ("mean", "stddev")),
    "GlorotUniform": ("glorot_uniform", ()),
}

# Refused: their spread depends on the number of rows, which a table does not have.
_SCALED = ("VarianceScaling", "GlorotNormal", "HeNormal", "HeUniform")
_SCALED += ("LecunNormal", "LecunUniform")


def get(identifier: Any) -> Any:
    """Returns the Keras initializer that `identifier` names, is, or describes.

    Raises:
        ValueError: if Keras has no such initializer, or the core cannot apply it row
            by row.
    """
    try:
        initializer = keras.initializers.get(identifier)
    except (TypeError, ValueError) as error:
        raise ValueError(_refusal(identifier)) from error
    name = type(initializer).__name__
    if name not in _SUPPORTED:
        raise ValueError(_refusal(identifier) + _equal_of(name))
    return initializer


def spec_and_seed(initializer: Any) -> tuple[str, int]:
    """Returns an initializer's text for the core, and its seed (0 if unset)."""
    name, parameters, seed = described(initializer)
    return format_spec(name, parameters), seed


def described(initializer: Any) -> tuple[str, dict[str, float], int]:
    """Returns an initializer's name in the core, its parameters and its seed.

    A row's initial value depends only on the seed, the table's name and the id, so
    every process computes the same rows, also without a seed.
    """
    name, keys = _SUPPORTED[type(initializer).__name__]
    config = initializer.get_config()
    seed = config.get("seed")
    if seed is not None and not isinstance(seed, int):
        raise ValueError(
            "the seed of `embeddings_initializer` must be an integer or None, since "
            f"rows are seeded by id. Received: seed={seed!r}"
        )
    return name, {key: config[key] for key in keys}, (seed or 0) % 2**64


def tell_of_spread(layer: str, initializer: Any, dim: int) -> None:
    """Warns if a layer's new rows have a wider spread than Keras's `Embedding`.

    Args:
        layer: The layer's name.
        initializer: The layer's initializer.
        dim: Weights per row.
    """
    if type(initializer).__name__ != "GlorotUniform":
        return
    limit = (6 / (1 + dim)) ** 0.5
    logging.warning(
        "layer '%s': glorot_uniform spreads new rows over [-%.3g, %.3g], which is that "
        "of one row, sqrt(6 / (1 + %d)): a table has no number of rows. Keras's "
        "Embedding of n rows has sqrt(6 / (n + %d)), which is less: for that, give "
        "keras.initializers.RandomUniform(-limit, limit)",
        *(layer, limit, limit, dim, dim),
    )


def _refusal(identifier: Any) -> str:
    return (
        "`embeddings_initializer` must be one of Keras's "
        f"{', '.join(_SUPPORTED)} (or its name, such as 'uniform'). "
        f"Received: embeddings_initializer={identifier!r}"
    )


def _equal_of(name: str) -> str:
    if name not in _SCALED:
        return ""
    return (
        f". {name} takes its spread from the number of rows of a variable, and a table "
        "has no such number. Write the spread itself: what `he_normal` gives "
        "Keras's `Embedding` of n rows is "
        "keras.initializers.TruncatedNormal(stddev=1.137 * (2 / n) ** 0.5)"
    )
