"""What the program says about saving, around calls of Keras that take no options."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from persia_tf.current_cluster import set_within

_rows_stay: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "persia_tf_rows_stay", default=False
)


@contextlib.contextmanager
def rows_stay() -> Iterator[None]:
    """Within it, models are saved and loaded without their rows.

    What is saved holds the dense weights only, and what is loaded leaves the rows of
    the cluster as they are. So a program that only evaluates can load a model whose
    rows others train meanwhile, and a model whose rows `ptf.checkpoint.save` saves
    need not hold them too.

    Example:

    ```python
    with ptf.rows_stay():
        model = keras.models.load_model("m.keras")
    ```
    """
    with set_within(_rows_stay, True):
        yield


def do_rows_stay() -> bool:
    """Whether `rows_stay` was entered here."""
    return _rows_stay.get()
