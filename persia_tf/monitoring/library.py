"""Imports prometheus_client, which pip's extra `metrics` installs."""

from __future__ import annotations

from typing import Any

from persia_tf import errors


def prometheus() -> Any:
    """Returns the module `prometheus_client`.

    Raises:
        FailedPreconditionError: If it is not installed.
    """
    try:
        import prometheus_client
    except ImportError as error:
        raise errors.FailedPreconditionError(
            f"metrics need a library that is not installed ({error}): "
            "`pip install 'persia_tf[metrics]'` installs it"
        ) from error
    return prometheus_client
