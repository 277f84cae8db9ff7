"""Converts Keras's initializers to texts that the native core can parse."""

from typing import Any

from absl import logging

from persia_tf._keras import keras
from persia_tf.base.spec import format_spec

# Maps the name of a Keras initializer class to the initializer's name in the native
# core, and to the entries of its config that the core uses.
_SUPPORTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "Zeros": ("zeros", ()),
    "Ones": ("ones", ()),
    "Constant": ("constant", ("value",)),
    "RandomUniform": ("uniform", ("minval", "maxval")),
    "RandomNormal": ("normal", ("mean", "stddev")),
    "TruncatedNormal": ("truncated_normal", ("mean", "stddev")),
    "GlorotUniform": ("glorot_uniform", ()),
}

# Keras initializers that are refused, since their spread depends on a variable's number
# of rows, and a table has no fixed number of rows.
_SCALED = ("VarianceScaling", "GlorotNormal", "HeNormal", "HeUniform")
_SCALED += ("LecunNormal", "LecunUniform")


def get(identifier: Any) -> Any:
    """Returns a Keras initializer, which may be given by its name or config.

    Args:
        identifier: A Keras initializer, or the name or config of one.

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
    """Returns an initializer's text for the native core, and its seed (0 if unset)."""
    name, parameters, seed = described(initializer)
    return format_spec(name, parameters), seed


def described(initializer: Any) -> tuple[str, dict[str, float], int]:
    """Returns an initializer's name in the native core, its parameters and its seed.

    A row's initial value depends only on the seed, the table's name and the id, so
    every process computes the same rows, even without a seed.
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
    """Warns if new rows have a wider spread than the rows of Keras's `Embedding`.

    Args:
        layer: The layer's name.
        initializer: The layer's initializer.
        dim: The number of weights per row.
    """
    if type(initializer).__name__ != "GlorotUniform":
        return
    limit = (6 / (1 + dim)) ** 0.5
    logging.warning(
        "layer '%s': glorot_uniform draws new rows from [-%.3g, %.3g], the limits for "
        "one row, sqrt(6 / (1 + %d)), since a table has no fixed number of rows. "
        "Keras's Embedding of n rows uses smaller limits, sqrt(6 / (n + %d)): to use "
        "these, give keras.initializers.RandomUniform(-limit, limit)",
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
        f". {name} derives its range from the number of rows of a variable, and a "
        "table has no fixed number of rows. Give the range explicitly: what "
        "`he_normal` gives Keras's `Embedding` of n rows is "
        "keras.initializers.TruncatedNormal(stddev=1.137 * (2 / n) ** 0.5)"
    )
