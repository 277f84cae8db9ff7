"""Readers of files at URLs, on an S3 server of this process."""

import io

import fsspec
import numpy as np
import pytest

import persia_tf as ptf
from persia_tf import errors

pa = pytest.importorskip("pyarrow")
pa_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1000


@pytest.fixture
def folder(bucket):
    """A URL with two files of each format."""
    system = fsspec.filesystem("s3", skip_instance_cache=True)
    for number, name in enumerate(["a", "b"]):
        table = pa.table({"id": np.arange(number * ROWS, (number + 1) * ROWS)})
        for write, ending in ((parquet_of, "parquet"), (csv_of, "csv")):
            system.pipe_file(f"{bucket}/clicks/{name}.{ending}", write(table))
    return f"s3://{bucket}/clicks"


def parquet_of(table):
    file = io.BytesIO()
    pq.write_table(table, file, 100)
    return file.getvalue()


def csv_of(table):
    file = io.BytesIO()
    pa_csv.write_csv(table, file)
    return file.getvalue()


def ids(dataset):
    return np.concatenate([batch["id"].numpy() for batch in dataset])


@pytest.mark.parametrize("reader", ["parquet", "csv"])
def test_files_at_urls_are_read_as_local_ones(folder, reader):
    read = getattr(ptf.data, reader)
    files = f"{folder}/*.{reader}"
    assert ids(read(files, 64)).tolist() == list(range(2 * ROWS))
    mixed = ids(read(files, 64, shuffle_buffer=300)).tolist()
    assert mixed != sorted(mixed) == list(range(2 * ROWS))
    assert len(ids(read(f"{folder}/b.{reader}", 64))) == ROWS


def test_files_that_are_not_at_a_url(folder):
    for name in ("none.parquet", "*.orc", "none"):
        with pytest.raises(errors.NotFoundError, match="there is no file"):
            ptf.data.parquet(f"{folder}/{name}", 64)
