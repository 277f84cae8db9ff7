"""UCI Adult as ids and numbers: does a person earn more than $50,000 a year?"""

import pathlib

import numpy as np
from common import locate
from common.ids import string_id
from common.table import Table

SOURCE = locate.Source(
    name="adult",
    files=("adult.data", "adult.test"),
    url="https://archive.ics.uci.edu/static/public/2/adult.zip",
)
# In the order of the files' fields; the label is the last.
_FIELDS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "gender",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
)
NUMERIC = (
    "age",
    "fnlwgt",
    "education_num",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
)
CATEGORICAL = tuple(name for name in _FIELDS if name not in NUMERIC)
_LONG_TAILED = ("fnlwgt", "capital_gain", "capital_loss")
_LABELS = {"<=50K": 0.0, ">50K": 1.0}


def read(directory: pathlib.Path) -> tuple[Table, Table]:
    """Reads the publisher's (training, test) files.

    Args:
        directory: holds the two files.

    Returns:
        Two tables with the features CATEGORICAL as int64 ids ("?", which stands
        for a missing value, has an id like any other value), and `numbers`: the
        NUMERIC columns, scaled to mean 0 and standard deviation 1 over the
        training rows.

    Raises:
        ValueError: if a file is not in the publisher's format.
    """
    train, test = (_read_file(directory / name) for name in SOURCE.files)
    return standardize(train, test)


def standardize(train: Table, test: Table) -> tuple[Table, Table]:
    """Returns the tables with `numbers` scaled by the training rows' moments."""
    long_tailed = np.isin(NUMERIC, _LONG_TAILED)

    def shorten(numbers):
        return np.where(long_tailed, np.log1p(numbers), numbers)

    shortened = shorten(train.features["numbers"])
    mean, deviation = shortened.mean(axis=0), shortened.std(axis=0)
    # Makes a constant column 0 instead of NaN.
    deviation[deviation == 0] = 1

    def scale(numbers):
        return ((shorten(numbers) - mean) / deviation).astype(np.float32)

    return train.map("numbers", scale), test.map("numbers", scale)


def _read_file(path: pathlib.Path) -> Table:
    rows = []
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        # The test file begins with a comment, and its labels end with a dot.
        if not line.strip() or line.startswith("|"):
            continue
        row = [field.strip() for field in line.strip().rstrip(".").split(",")]
        if len(row) != len(_FIELDS) + 1 or row[-1] not in _LABELS:
            raise ValueError(
                f"{path}:{number}: a line must have {len(_FIELDS)} fields and "
                f"then {' or '.join(_LABELS)}; got {line!r}."
            )
        rows.append(row)
    *columns, labels = zip(*rows)
    by_name = dict(zip(_FIELDS, columns))
    features = {name: _ids(by_name[name]) for name in CATEGORICAL}
    numbers = [np.array(by_name[name], np.float64) for name in NUMERIC]
    features["numbers"] = np.stack(numbers, axis=1)
    return Table(features, np.array([_LABELS[label] for label in labels], np.float32))


def _ids(texts: tuple[str, ...]) -> np.ndarray:
    known = {text: string_id(text) for text in set(texts)}
    return np.array([known[text] for text in texts], np.int64)
