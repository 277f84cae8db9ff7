"""Generates ratings from a known factorisation model, as a substitute for MovieLens."""

import numpy as np
from common.generated import draw_labels, id_effects
from common.ids import string_id
from common.table import Table

from movielens.data import (
    MAX_GENRES,
    MOVIE_FEATURES,
    USER_FEATURES,
    look_up,
    pad_genres,
)

_GENRES = ("Action", "Comedy", "Crime", "Drama", "Horror", "Musical", "Western")
# The spread of each feature's effect on the logit.
_EFFECTS = {"user": 0.6, "movie": 1.0, "gender": 0.2, "occupation": 0.2, "genres": 0.5}
# The spread of users' and movies' positions in the space of tastes.
_TASTE = 0.6
_TASTE_DIM = 4


def generate(
    seed: int, rows: int = 200_000, users: int = 2_000, movies: int = 1_000
) -> Table:
    """Draws a sample with MovieLens's features.

    Args:
        seed: equal seeds give equal samples.
        rows: the number of ratings.
        users: the number of users to draw from.
        movies: the number of movies to draw from, a few of them popular.

    Returns:
        A table with the probabilities that its labels were drawn with.
    """
    rng = np.random.default_rng(seed)
    popularity = rng.permutation(1.0 / np.arange(10, movies + 10))
    user = rng.integers(1, users + 1, rows)
    movie = 1 + rng.choice(movies, rows, p=popularity / popularity.sum())
    features = {
        **look_up(user, _generate_users(users, rng)),
        **look_up(movie, _generate_movies(movies, rng)),
    }
    return Table(features, *draw_labels(_logits(features, rng), rng))


def _generate_users(count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    gender = np.array([string_id("F"), string_id("M")])
    zip_code = np.array([string_id(f"{code:05}") for code in range(500)])
    columns = (
        np.arange(1, count + 1),
        rng.choice(gender, count),
        rng.choice([1, 18, 25, 35, 45, 50, 56], count),
        rng.integers(0, 21, count),
        rng.choice(zip_code, count),
    )
    return dict(zip(USER_FEATURES, columns))


def _generate_movies(count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    names = [string_id(name) for name in _GENRES]
    genres = [
        list(rng.choice(names, rng.integers(1, MAX_GENRES + 1), replace=False))
        for _ in range(count)
    ]
    return dict(zip(MOVIE_FEATURES, (np.arange(1, count + 1), pad_genres(genres))))


def _logits(features: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    logits = np.full(len(features["user"]), 0.3)
    for name, scale in _EFFECTS.items():
        effects = id_effects(features[name], scale, rng)
        # Genres: the mean over all six places; padding counts as a genre.
        logits += effects.reshape(len(logits), -1).mean(axis=1)
    user = id_effects(features["user"], _TASTE, rng, _TASTE_DIM)
    movie = id_effects(features["movie"], _TASTE, rng, _TASTE_DIM)
    return logits + (user * movie).sum(axis=1)
