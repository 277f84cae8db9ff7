"""Checks for the libraries of the extra `serving`, which the model server needs."""

from __future__ import annotations

import importlib

from persia_tf import errors

_LIBRARIES = ("aiohttp", "prometheus_client", "tensorflow_serving.apis")


def check() -> None:
    """Raises FailedPreconditionError if one of the libraries is not installed."""
    try:
        for name in _LIBRARIES:
            importlib.import_module(name)
    except ImportError as error:
        raise errors.FailedPreconditionError(
            f"the model server needs a library that is not installed ({error}): "
            "`pip install 'persia_tf[serving]'` brings what it needs"
        ) from error
