"""Imports libraries that pip installs only with an extra of persia_tf."""

from __future__ import annotations

import importlib
from typing import Any

from persia_tf import errors


def import_of(extra: str, user: str, *modules: str) -> Any:
    """Imports modules of libraries, and returns the first of them.

    Example:

    >>> prometheus = import_of("metrics", "metrics need", "prometheus_client")

    Args:
        extra: The extra that installs the libraries.
        user: What needs them, with the verb, for the error message.
        *modules: The modules' names.

    Raises:
        FailedPreconditionError: If one of them is not installed.
    """
    try:
        return [importlib.import_module(name) for name in modules][0]
    except ImportError as error:
        raise errors.FailedPreconditionError(
            f"{user} a library that is not installed ({error}): "
            f"`pip install 'persia_tf[{extra}]'` installs it"
        ) from error
