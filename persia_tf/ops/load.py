"""Loads the op library, with an error message that explains a failure."""

import functools
import os
import threading
from pathlib import Path
from typing import Any

import tensorflow as tf

from persia_tf import errors
from persia_tf.native import capi

OPS_NAME = "_persia_ops.so"

_loading = threading.Lock()


def library_path() -> Path:
    """Returns the path of the op library.

    Raises:
        LibraryLoadError: if the library is missing.
    """
    override = os.environ.get(capi.LIBRARY_DIR_VARIABLE)
    path = Path(override or Path(__file__).parent) / OPS_NAME
    if not path.is_file():
        raise errors.LibraryLoadError(
            f"persia_tf's op library is missing: there is no {path}. Build it with "
            "`pip install .` or, in a checkout, `make build`."
        )
    return path


@functools.cache
def ops() -> Any:
    """Returns the module of raw ops; loads the library once per process.

    Raises:
        LibraryLoadError: if the library is missing, or TensorFlow cannot load it.
    """
    # Programs may build their first layers on several threads at once.
    with _loading:
        return _load()


@functools.cache
def _load() -> Any:
    # Load the core first, since the op library depends on it.
    capi.library()
    path = library_path()
    try:
        module = tf.load_op_library(str(path))
    except (tf.errors.NotFoundError, OSError) as error:
        raise errors.LibraryLoadError(
            f"persia_tf's op library {path} does not load into TensorFlow "
            f"{tf.__version__} (2.16 or later is needed): {error}. Build it again "
            "with `pip install .` or `make build`."
        ) from error
    tf.no_gradient("PersiaIssue")
    tf.no_gradient("PersiaRows")
    tf.no_gradient("PersiaStage")
    tf.no_gradient("PersiaCommit")
    tf.no_gradient("PersiaRemoteLookup_of_persia_ops_so")
    return module
