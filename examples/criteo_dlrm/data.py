"""Criteo's display advertising data as ids and numbers: is an ad clicked?"""

import pathlib

import numpy as np
from common import locate
from common.ids import string_id
from common.table import Table

SOURCE = locate.Source(
    name="criteo-sample",
    files=("train.txt",),
    url=None,
)
COUNTS = tuple(f"I{index}" for index in range(1, 14))
CATEGORICAL = tuple(f"C{index}" for index in range(1, 27))


def read(directory: pathlib.Path) -> Table:
    """Reads the publisher's file.

    Args:
        directory: holds the file.

    Returns:
        A table with a row per ad. Its features are CATEGORICAL as int64 ids, which
        are hashes of the texts (the empty text, which stands for a missing value,
        has an id like any other), and `numbers`: the COUNTS after `shorten`.

    Raises:
        ValueError: if the file is not in the publisher's format.
    """
    labels, counts, categories = read_fields(directory)
    features = {name: _ids(column) for name, column in categories.items()}
    return Table({**features, "numbers": shorten(counts)}, labels)


def read_fields(
    directory: pathlib.Path,
) -> tuple[np.ndarray, np.ndarray, dict[str, tuple[str, ...]]]:
    """Reads the fields unchanged.

    Args:
        directory: holds the file.

    Returns:
        The labels; the counts, `(rows, 13)`, 0 where they are missing; and the texts
        by categorical feature.

    Raises:
        ValueError: if the file is not in the publisher's format.
    """
    path = directory / SOURCE.files[0]
    width = 1 + len(COUNTS) + len(CATEGORICAL)
    rows = [line.split("\t") for line in path.read_text("ascii").splitlines()]
    for number, row in enumerate(rows, 1):
        if len(row) != width or row[0] not in ("0", "1"):
            raise ValueError(
                f"{path}:{number}: a line must have {width} fields between tabs, the "
                f"first of them 0 or 1; got {len(row)}: {row!r}."
            )
    labels, *columns = zip(*rows)
    counts = [
        [float(text or 0) for text in column] for column in columns[: len(COUNTS)]
    ]
    categories = dict(zip(CATEGORICAL, columns[len(COUNTS) :]))
    return np.array(labels, np.float32), np.array(counts, np.float32).T, categories


def shorten(counts: np.ndarray) -> np.ndarray:
    """Returns `log(1 + count)`, 0 for the few counts below 0; float32."""
    return np.log1p(counts.clip(min=0)).astype(np.float32)


def _ids(texts: tuple[str, ...]) -> np.ndarray:
    known = {text: string_id(text) for text in set(texts)}
    return np.array([known[text] for text in texts], np.int64)
