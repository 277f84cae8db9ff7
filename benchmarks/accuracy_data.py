"""The data sets on which accuracy is compared, and a model for each."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1] / "examples"))

from adult_income import data as adult_data
from adult_income import model as adult_model
from common import locate
from common.table import Table
from criteo_dlrm import data as criteo_data
from movielens import data as movielens_data
from movielens import model as movielens_model

_TEST_FRACTION = 0.2


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A data set, and how a model is trained on it.

    Attributes:
        source: Where the data set's files are.
        load: Takes `(directory, seed)` and returns (training, test) tables.
        build: Takes a `PersiaRows` and returns the model.
        adagrad: The parameters of Adagrad, for rows and the dense part.
        scale: New rows are uniform in [-scale, scale].
        epochs: Passes over the training rows.
        batch: Rows per step.
        seeds: The number of seeds to average over; higher where results vary more.
    """

    source: locate.Source
    load: Callable[[pathlib.Path, int], tuple[Table, Table]]
    build: Callable[[Any], Any]
    adagrad: dict[str, float]
    scale: float
    epochs: int
    batch: int
    seeds: int = 3


def read_criteo(directory: pathlib.Path) -> Table:
    """Reads the Criteo sample: `numbers`, and C1 to C26 as int64 ids.

    An absent category gets an id of its own; counts are compressed by a logarithm.

    Raises:
        ValueError: if a line is not in the publisher's format.
    """
    labels, counts, categories = criteo_data.read_fields(directory)
    features = {"numbers": criteo_data.shorten(counts)}
    for name, column in categories.items():
        # Values have 32 bits, so 1 << 32 is not the id of any value.
        ids = [int(text, 16) if text else 1 << 32 for text in column]
        features[name] = np.array(ids, np.int64)
    return Table(features, labels)


def build_criteo(rows: Any, dim: int = 8, hidden: tuple[int, ...] = (64, 32)) -> Any:
    """Returns a network over embedded categories and numbers."""
    import tensorflow as tf

    keras = tf.keras
    counts = len(criteo_data.COUNTS)
    inputs = {"numbers": keras.Input(shape=(counts,), name="numbers")}
    vectors = [inputs["numbers"]]
    for name in criteo_data.CATEGORICAL:
        inputs[name] = keras.Input(shape=(), dtype="int64", name=name)
        vectors.append(rows.layer(name, dim)(inputs[name]))
    x = keras.layers.Concatenate()(vectors)
    for width in hidden:
        x = keras.layers.Dense(width, activation="relu")(x)
    chance = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, chance, name="criteo")


def _split(read: Callable[[pathlib.Path], Table]) -> Callable[..., Any]:
    return lambda directory, seed: read(directory).split(_TEST_FRACTION, seed)


DATA_SETS = {
    "movielens": DataSet(
        source=movielens_data.SOURCE,
        load=_split(movielens_data.read),
        build=movielens_model.build,
        adagrad={"learning_rate": 0.06, "initial_accumulator_value": 1e-5},
        scale=0.01,
        epochs=4,
        batch=2048,
        seeds=6,
    ),
    "adult": DataSet(
        source=adult_data.SOURCE,
        # The publisher's own split.
        load=lambda directory, seed: adult_data.read(directory),
        build=adult_model.build,
        adagrad={"learning_rate": 0.02, "initial_accumulator_value": 1e-5},
        scale=0.05,
        epochs=20,
        batch=512,
    ),
    "criteo": DataSet(
        source=criteo_data.SOURCE,
        load=_split(read_criteo),
        build=build_criteo,
        adagrad={"learning_rate": 0.05, "initial_accumulator_value": 1e-5},
        scale=0.01,
        epochs=1,
        batch=256,
        seeds=6,
    ),
}


def directory_of(name: str, root: str | None) -> pathlib.Path:
    """Returns where a data set's files are.

    Args:
        name: The data set's name.
        root: The value of `$PERSIA_TF_DATA`.

    Raises:
        SystemExit: if the files do not exist.
    """
    source = DATA_SETS[name].source
    folder = pathlib.Path(root or ".") / source.name
    missing = [file for file in source.files if not (folder / file).is_file()]
    if missing or not root:
        raise SystemExit(
            f"{name} needs {', '.join(source.files)} in $PERSIA_TF_DATA/{source.name}. "
            f"PERSIA_TF_DATA is {root!r}."
        )
    return folder
