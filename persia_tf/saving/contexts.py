"""Context managers that set options of saving and loading.

Keras's own functions for saving and loading cannot pass such options to a layer.
"""

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
    """Within this context, models are saved and loaded without their rows.

    Saved files hold the dense part only, and loading leaves the rows of the cluster
    as they are. So a program that only evaluates can load a model while other programs
    train the same rows, and a model whose rows are saved by `ptf.checkpoint.save` can
    be saved without a second copy of the rows.

    Example:

    ```python
    with ptf.rows_stay():
        model = keras.models.load_model("m.keras")
    ```
    """
    with set_within(_rows_stay, True):
        yield


def do_rows_stay() -> bool:
    """Returns whether the caller runs within a `rows_stay` context."""
    return _rows_stay.get()
