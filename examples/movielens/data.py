"""MovieLens 1M as ids: does a user give a film more than 3 stars?"""

import pathlib

import numpy as np
from common import locate
from common.ids import PADDING, string_id
from common.table import Table

SOURCE = locate.Source(
    name="ml-1m",
    files=("ratings.dat", "users.dat", "movies.dat"),
    url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
    md5="c4d9eecfca2ab87c1945afe126590906",
)
USER_FEATURES = ("user", "gender", "age", "occupation", "zip")
MOVIE_FEATURES = ("movie", "genres")
FEATURES = USER_FEATURES + MOVIE_FEATURES
MAX_GENRES = 6
NEUTRAL = 3


def read(directory: pathlib.Path) -> Table:
    """Reads the publisher's files, without ratings of 3 stars.

    Args:
        directory: holds the three files.

    Returns:
        A table with a row per rating: FEATURES as int64 ids. `genres` has
        MAX_GENRES ids per row, padded with 0.

    Raises:
        ValueError: if a file is not in the publisher's format.
    """
    user, movie, rating, _ = read_ratings(directory / "ratings.dat")
    features = {
        **look_up(user, _read_users(directory / "users.dat")),
        **look_up(movie, _read_movies(directory / "movies.dat")),
    }
    labels = (rating > NEUTRAL).astype(np.float32)
    return Table(features, labels).take(rating != NEUTRAL)


def look_up(ids: np.ndarray, entities: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the features of each id's entity.

    Args:
        ids: ids of users, or of movies.
        entities: the features of all users or movies; the first one is their ids,
            which are distinct.

    Raises:
        ValueError: if there is no entity for one of the ids.
    """
    name, known = next(iter(entities.items()))
    order = np.argsort(known)
    place = np.searchsorted(known, ids, sorter=order).clip(max=len(known) - 1)
    rows = order[place]
    strangers = ids[known[rows] != ids]
    if len(strangers):
        raise ValueError(
            f"ratings.dat has {name} {strangers[0]}, which {name}s.dat must list but "
            "does not. Take the files from one archive."
        )
    return {feature: column[rows] for feature, column in entities.items()}


def pad_genres(genres: list[list[int]]) -> np.ndarray:
    """Returns each movie's genre ids, padded to MAX_GENRES."""
    padded = np.full((len(genres), MAX_GENRES), PADDING, np.int64)
    for row, ids in zip(padded, genres):
        row[: len(ids)] = ids
    return padded


def read_ratings(path: pathlib.Path) -> np.ndarray:
    """Returns four rows: users, movies, ratings, times.

    Args:
        path: the file of ratings.

    Raises:
        ValueError: if the file is not in the publisher's format.
    """
    try:
        # Every second field is the empty text within a "::".
        return np.loadtxt(
            path, np.int64, delimiter=":", usecols=(0, 2, 4, 6), ndmin=2, unpack=True
        )
    except ValueError as error:
        raise ValueError(
            f"{path}: a line must be UserID::MovieID::Rating::Timestamp, all integers: "
            f"{error}"
        ) from error


def _read_users(path: pathlib.Path) -> dict[str, np.ndarray]:
    users = [
        # The first five digits of a zip code are the area; some codes have more.
        (int(user), string_id(gender), int(age), int(job), string_id(zip_code[:5]))
        for user, gender, age, job, zip_code in _fields(path, 5)
    ]
    return dict(zip(USER_FEATURES, np.array(users, np.int64).T))


def _read_movies(path: pathlib.Path) -> dict[str, np.ndarray]:
    movies, genres = [], []
    for movie, _, names in _fields(path, 3):
        movies.append(int(movie))
        genres.append([string_id(name) for name in names.split("|")])
        if len(genres[-1]) > MAX_GENRES:
            raise ValueError(
                f"{path}: a movie has at most {MAX_GENRES} genres; {movie} has {names}."
            )
    return dict(zip(MOVIE_FEATURES, (np.array(movies, np.int64), pad_genres(genres))))


def _fields(path: pathlib.Path, count: int) -> list[list[str]]:
    rows = []
    for number, line in enumerate(path.read_text("latin-1").split("\n"), 1):
        if line:
            rows.append(line.rstrip("\r").split("::"))
            if len(rows[-1]) != count:
                raise ValueError(
                    f"{path}:{number}: a line must have {count} fields between '::'; "
                    f"got {line!r}."
                )
    return rows
