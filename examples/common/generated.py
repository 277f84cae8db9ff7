"""Functions for the known models that samples are generated from."""

import numpy as np


def id_effects(
    ids: np.ndarray, scale: float, rng: np.random.Generator, dim: int = 1
) -> np.ndarray:
    """Returns each id's effect: a normal vector, equal for equal ids.

    Args:
        ids: int64, any shape.
        scale: the standard deviation of the effects.
        rng: the generator that draws them.
        dim: the size of an effect.

    Returns:
        float64 of shape `ids.shape + (dim,)`.
    """
    values, place = np.unique(ids, return_inverse=True)
    effects = rng.normal(0.0, scale, (len(values), dim))
    return effects[place.reshape(ids.shape)]


def draw_labels(
    logits: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Returns (labels, the probabilities that they were drawn with)."""
    probabilities = 1.0 / (1.0 + np.exp(-logits))
    labels = rng.random(len(logits)) < probabilities
    return labels.astype(np.float32), probabilities
