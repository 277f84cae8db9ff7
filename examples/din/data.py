"""MovieLens 1M as histories: will a user like a film, given those liked before?"""

import pathlib

import numpy as np
from common import locate
from common.ids import PADDING
from common.table import Table
from movielens.data import NEUTRAL, read_ratings
from movielens.data import SOURCE as MOVIELENS

SOURCE = locate.Source(MOVIELENS.name, ("ratings.dat",), MOVIELENS.url, MOVIELENS.md5)
MAX_HISTORY = 20
_TEST_FRACTION = 0.2


def read(directory: pathlib.Path) -> tuple[Table, Table]:
    """Reads the publisher's ratings, without those of 3 stars.

    Args:
        directory: holds the file.

    Returns:
        (training, test) tables, as returned by `split`.

    Raises:
        ValueError: if the file is not in the publisher's format.
    """
    user, movie, rating, time = read_ratings(directory / SOURCE.files[0])
    told = rating != NEUTRAL
    order = np.lexsort((time[told], user[told]))
    user, movie, rating = (each[told][order] for each in (user, movie, rating))
    return split(user, movie, (rating > NEUTRAL).astype(np.float32))


def split(
    user: np.ndarray,
    movie: np.ndarray,
    liked: np.ndarray,
    probabilities: np.ndarray = None,
) -> tuple[Table, Table]:
    """Splits ratings: the last fifth of each user's ratings are the test part.

    Args:
        user: the user of each rating, int64, sorted by user and then by time.
        movie: the film of each rating, int64, above 0.
        liked: 0 or 1 for each rating.
        probabilities: the probabilities that `liked` was drawn with, if known.

    Returns:
        (training, test) tables with the features `movie` and `history`. A history has
        the last MAX_HISTORY films that the user had liked before this rating, padded
        with 0 in front.
    """
    features = {"movie": movie, "history": histories(user, movie, liked)}
    table = Table(features, liked, probabilities)
    first, _, count = _runs(user)
    is_test = np.arange(len(user)) - first >= np.ceil((1 - _TEST_FRACTION) * count)
    return table.take(np.flatnonzero(~is_test)), table.take(np.flatnonzero(is_test))


def histories(user: np.ndarray, movie: np.ndarray, liked: np.ndarray) -> np.ndarray:
    """Returns the films that each rating's user liked before, `(n, MAX_HISTORY)`."""
    likes = liked > 0
    before = np.cumsum(likes) - likes
    first, _, _ = _runs(user)
    places = before[:, np.newaxis] + np.arange(-MAX_HISTORY, 0)
    is_own = places >= before[first][:, np.newaxis]
    # One more entry, in case no user liked any film.
    films = np.append(movie[likes], PADDING)
    return np.where(is_own, films[np.where(is_own, places, 0)], PADDING)


def _runs(user: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each rating, returns its user's first rating, index and rating count."""
    _, first, number, count = np.unique(
        user, return_index=True, return_inverse=True, return_counts=True
    )
    return first[number], number, count[number]
