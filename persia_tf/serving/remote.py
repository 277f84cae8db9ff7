"""How an export asks shards, and the op that it needs for that."""

from __future__ import annotations

import dataclasses
import os
from typing import Literal

from persia_tf import checks
from persia_tf.ops import load

ON_FAILURE = ("error", "default")
_MOST_HOT_ROWS = 2**32
_LEAST_TIMEOUT = 1e-3
_MOST_SECONDS = 1e6


@dataclasses.dataclass(frozen=True)
class Remote:
    """How `ptf.serving.export(..., mode="remote")` asks shards for rows.

    Example:

    ```python
    remote = ptf.serving.Remote(timeout=0.2, hot_rows=100_000, hot_seconds=5)
    ptf.serving.export(model, "serving/ranking/1", mode="remote", remote=remote)
    ```

    Args:
        timeout: Seconds until a lookup that a shard does not answer fails: from 0.001.
            Defaults to `1.0`.
        on_failure: What becomes of rows whose shard cannot be reached in time:
            `"error"`, the call fails, with an error that names the shard; or
            `"default"`, they are zeros, as of ids without a row, and are counted: see
            `remote_stats`. What a shard refuses is an error either way. Defaults to
            `"error"`.
        hot_rows: How many rows of each table the serving process keeps copies of, those
            of absent ids included: an integer from 0 to 2**32. Defaults to `0`.
        hot_seconds: How long a copy answers instead of the shard, so that a change
            shows as late as that. With `0` it does only while something in the process
            follows changes. Defaults to `0.0`.

    Raises:
        TypeError: for an argument of another type.
        ValueError: for one out of its range, or `hot_seconds` without `hot_rows`.
    """

    timeout: float = 1.0
    on_failure: Literal["error", "default"] = "error"
    hot_rows: int = 0
    hot_seconds: float = 0.0

    def __post_init__(self) -> None:
        checks.one_of("on_failure", self.on_failure, ON_FAILURE)
        checks.integer("hot_rows", self.hot_rows, 0, _MOST_HOT_ROWS)
        checks.within("timeout", self.timeout, _LEAST_TIMEOUT, _MOST_SECONDS)
        checks.within("hot_seconds", self.hot_seconds, 0, _MOST_SECONDS)
        if self.hot_seconds and not self.hot_rows:
            raise ValueError(
                "`hot_seconds` is how long copies of rows answer, and `hot_rows` how "
                "many there may be: give both. Received: "
                f"hot_seconds={self.hot_seconds!r}, hot_rows={self.hot_rows!r}"
            )


def op_library() -> str:
    """Returns the path of the op library that exports with `mode="remote"` need.

    For `tf.load_op_library` in a program without `persia_tf`, or another loader.
    `libpersia.so` must be in the folder above it, as it is here.

    Raises:
        LibraryLoadError: if it is missing.
    """
    return os.fspath(load.library_path())


def load_ops() -> None:
    """Loads the op library, so that exports with `mode="remote"` can be loaded.

    Example:

    ```python
    ptf.serving.load_ops()
    serve = tf.saved_model.load("serving/ranking/1").signatures["serving_default"]
    ```

    Raises:
        LibraryLoadError: if it is missing, or this TensorFlow cannot load it.
    """
    load.ops()
