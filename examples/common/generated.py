"""Pieces of the known models that generated samples are drawn from."""

import numpy as np


def id_effects(
    ids: np.ndarray, scale: float, rng: np.random.Generator, dim: int = 1
) -> np.ndarray:
    """Returns a normal effect a distinct id, laid out as the ids are.

    Args:
        ids: int64, any shape.
        scale: the effects' standard deviation.
        rng: draws them.
        dim: entries an effect.

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
