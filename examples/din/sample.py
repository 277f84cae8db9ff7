"""Generates ratings by users with a taste, as a substitute for MovieLens."""

import numpy as np
from common.generated import draw_labels, id_effects
from common.table import Table

from din.data import split

_POPULARITY = 1.0
# The spread of users' and films' positions in the space of tastes.
_TASTE = 0.9
_TASTE_DIM = 3


def generate(
    seed: int, rows: int = 150_000, users: int = 1_000, movies: int = 200
) -> tuple[Table, Table]:
    """Draws a sample with the features of the real data.

    Args:
        seed: equal seeds give equal samples.
        rows: the number of ratings.
        users: the number of users to draw from.
        movies: the number of films to draw from.

    Returns:
        (training, test) tables with the probabilities that their labels were drawn
        with.
    """
    rng = np.random.default_rng(seed)
    user = np.sort(rng.integers(1, users + 1, rows))
    movie = rng.integers(1, movies + 1, rows)
    tastes = [id_effects(ids, _TASTE, rng, _TASTE_DIM) for ids in (user, movie)]
    logits = (tastes[0] * tastes[1]).sum(axis=1)
    logits += id_effects(movie, _POPULARITY, rng)[:, 0]
    return split(user, movie, *draw_labels(logits, rng))
