"""Opens files for pyarrow, and names them in its errors."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from persia_tf import errors
from persia_tf.files import libraries
from persia_tf.files.paths import is_url

# How many file systems are kept.
_SYSTEMS = 16


def pyarrow() -> Any:
    """Returns the module, with those that read files.

    Raises:
        FailedPreconditionError: if it is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError as error:
        raise errors.FailedPreconditionError(
            f"reading files of samples needs pyarrow ({error}): run "
            "`pip install 'persia_tf[data]'`"
        ) from error
    return pa


@functools.lru_cache(_SYSTEMS)
def _system(scheme: str, _: str, host: str) -> Any:
    """Returns the file system of URLs, so that a part needs no new connection."""
    return libraries.find(f"{scheme}//{host}")


@contextlib.contextmanager
def opened(file: str) -> Iterator[Any]:
    """Yields a file that pyarrow reads; errors within the block name the file.

    Raises:
        NotFoundError: if the file does not exist.
        DataLossError: if the file is damaged, or not of its format.
        PersiaError: if it cannot be read.
    """
    pa = pyarrow()
    try:
        if is_url(file):
            with _system(*file.split("/")[:3]).open(
                libraries.path_at(file), "rb"
            ) as source:
                yield pa.PythonFile(source, mode="r")
        else:
            with pa.OSFile(file, "rb") as source:
                yield source
    except FileNotFoundError as error:
        raise errors.NotFoundError(f"there is no file {file!r}") from error
    except errors.PersiaError:
        raise
    except (pa.ArrowException, ValueError) as error:
        raise errors.DataLossError(f"cannot read {file!r}: {error}") from error
    except OSError as error:
        # Of a damaged file, pyarrow raises one that is not the system's.
        is_damage = error.errno is None and not is_url(file)
        kind = errors.DataLossError if is_damage else errors.UnavailableError
        raise kind(f"cannot read {file!r}: {error}") from error
