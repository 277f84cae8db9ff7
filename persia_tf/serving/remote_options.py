"""The options and the op library of exports that look up rows on shards."""

from __future__ import annotations

import dataclasses
import os
from typing import Literal

from persia_tf.base import checks
from persia_tf.ops import load

ON_FAILURE = ("error", "default")
_MOST_HOT_ROWS = 2**32
_LEAST_TIMEOUT = 1e-3


@dataclasses.dataclass(frozen=True)
class Remote:
    """Options for how an export with `mode="remote"` looks up rows on shards.

    Example:

    ```python
    remote = ptf.serving.Remote(timeout=0.2, hot_rows=100_000, hot_seconds=5)
    ptf.serving.export(model, "serving/ranking/1", mode="remote", remote=remote)
    ```

    Args:
        timeout: A lookup fails if a shard does not answer within this many seconds, at
            least 0.001. Defaults to `1.0`.
        on_failure: What happens to rows whose shard cannot be reached in time. With
            `"error"`, the call fails, and the error names the shard. With `"default"`,
            the rows are zeros, and are counted: see `remote_stats`. A request that a
            shard refuses is an error in both cases. Defaults to `"error"`.
        hot_rows: How many copies of hot rows per table the serving process may cache:
            an integer from 0 to 2**32. Vectors of ids without a row are cached, too,
            and count towards this number. Defaults to `0`.
        hot_seconds: How many seconds a copy may be used instead of a request to the
            shard: changes of a row may take effect this much later. With `0`, copies
            are used only while a `Follower` in the process keeps them up to date.
            Defaults to `0.0`.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of its range, or `hot_seconds` is given
            without `hot_rows`.
    """

    timeout: float = 1.0
    on_failure: Literal["error", "default"] = "error"
    hot_rows: int = 0
    hot_seconds: float = 0.0

    def __post_init__(self) -> None:
        checks.one_of("on_failure", self.on_failure, ON_FAILURE)
        checks.integer("hot_rows", self.hot_rows, 0, _MOST_HOT_ROWS)
        checks.within("timeout", self.timeout, _LEAST_TIMEOUT, checks.MOST_SECONDS)
        checks.within("hot_seconds", self.hot_seconds, 0, checks.MOST_SECONDS)
        if self.hot_seconds and not self.hot_rows:
            raise ValueError(
                "`hot_seconds` is how long a copy of a row may be used, and `hot_rows` "
                "how many copies are kept: give both. Received: "
                f"hot_seconds={self.hot_seconds!r}, hot_rows={self.hot_rows!r}"
            )


def op_library() -> str:
    """Returns the path of the op library that exports with `mode="remote"` need.

    A program without `persia_tf` can load the library by `tf.load_op_library`, or by
    another function that loads TensorFlow ops. A copy of the library needs
    `libpersia.so` in the folder above the copy, as in the installed `persia_tf`.

    Raises:
        LibraryLoadError: if the library is missing.
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
        LibraryLoadError: if the library is missing, or this version of TensorFlow
            cannot load it.
    """
    load.ops()
