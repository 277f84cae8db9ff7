"""Whether rows are saved along with what Keras is saving."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

_are_saved = contextvars.ContextVar("persia_tf_rows_are_saved", default=False)


@contextlib.contextmanager
def rows_are_saved() -> Iterator[None]:
    """Within it, layers do not warn that their rows are not being saved."""
    token = _are_saved.set(True)
    try:
        yield
    finally:
        _are_saved.reset(token)


def are_rows_saved() -> bool:
    """Whether `rows_are_saved` was entered here."""
    return _are_saved.get()
