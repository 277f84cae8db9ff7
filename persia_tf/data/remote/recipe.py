"""What a process needs to know to read a data set in the same order as another."""

from __future__ import annotations

import functools
import json
from typing import Any, NamedTuple

from persia_tf.data.reading.csv_files import CsvFiles
from persia_tf.data.reading.file_samples import FileSamples, Order
from persia_tf.data.reading.parquet_files import ParquetFiles
from persia_tf.data.reading.parts import Part
from persia_tf.data.reading.tensors import Columns
from persia_tf.data.reading.tfrecord_files import TFRecordFiles

_FORMATS = {each.__name__: each for each in (CsvFiles, ParquetFiles, TFRecordFiles)}


class Recipe(NamedTuple):
    """A data set of files, as JSON can hold it.

    Attributes:
        format: The name of the class that reads the files.
        arguments: Those of the class.
        files: The paths and URLs of the files.
        parts: Of each part the number of its file, its start, its end and its rows.
        order: The fields of the `Order` of its samples.
    """

    format: str
    arguments: dict[str, Any]
    files: list[str]
    parts: list[list[int]]
    order: list[Any]

    @classmethod
    def of(cls, samples: FileSamples) -> Recipe:
        """Returns the recipe of the samples of some files."""
        files = list(dict.fromkeys(part.file for part in samples.parts))
        numbers = {file: number for number, file in enumerate(files)}
        return cls(
            type(samples.source).__name__,
            samples.source.arguments(),
            files,
            [[numbers[part.file], *part[1:]] for part in samples.parts],
            list(samples.order),
        )

    def to_json(self) -> str:
        """Returns the recipe as text."""
        # NumPy's numbers, which a program may give for missing values, have `item`.
        return json.dumps(self, default=lambda value: value.item())

    @classmethod
    def from_json(cls, text: str | bytes) -> Recipe:
        """Returns the recipe of which `to_json` made text."""
        return cls(*json.loads(text))


class DataSet(NamedTuple):
    """The samples of a recipe, and their tensors."""

    samples: FileSamples
    columns: Columns


@functools.lru_cache(maxsize=8)
def prepared(recipe: bytes) -> DataSet:
    """Returns the data set of a recipe's JSON.

    Raises:
        PersiaError: if its files cannot be read.
    """
    made = Recipe.from_json(recipe)
    source = _FORMATS[made.format](**made.arguments)
    parts = [Part(made.files[file], *numbers) for file, *numbers in made.parts]
    # This process reads whatever batches it is asked for.
    order = Order(*made.order)._replace(shard=0, shards=1)
    return DataSet(FileSamples(source, parts, order), Columns(source.schema))
