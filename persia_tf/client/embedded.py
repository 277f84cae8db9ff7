"""Embedded stores, which hold rows in this process instead of on shards.

At first there is one store. If `keras.utils.clear_session()` is called while layers use
the current store, layers that are built later use a new store: their tables start
empty, even under the same names, and the earlier layers retain their rows.
"""

from __future__ import annotations

import itertools
import threading

from absl import logging

from persia_tf.client import session as session_lib

_lock = threading.Lock()
_numbers = itertools.count(2)
_stores = [session_lib.EMBEDDED]  # The last one is the current store.


def current_store() -> str:
    """Returns the name of the store that newly built layers use."""
    return _stores[-1]


def begin_store() -> str:
    """Makes a new store the current one, and returns its name."""
    with _lock:
        _stores.append(f"{session_lib.EMBEDDED} {next(_numbers)}")
        return _stores[-1]


def end_store(name: str) -> None:
    """Frees a store that no layer uses and that is not the current one."""
    with _lock:
        _stores.remove(name)
    session_lib.close_session(name)


def stores() -> list[str]:
    """Returns the names of all stores, the current one last."""
    return list(_stores)


def reset() -> None:
    """Frees every table that lives in this process, as if the process had just started.

    `reset` first waits for pending updates. A layer that was built on one of the tables
    cannot be used any more: its next step raises `NotFoundError`, and the model must be
    built again. Tables on shards are not changed: if the program uses some, a warning
    names them. To drop a table on shards, see `ptf.Table.drop`.

    Example:

    ```python
    for train, test in folds:
        ptf.reset()
        model = build_model()
        model.fit(train)
        scores.append(model.evaluate(test))
    ```

    Raises:
        PersiaError: if an update could not be applied. Call `reset` again to continue
            without that update.
    """
    for name in stores():
        session = session_lib.find_session(name)
        if session is None:
            continue
        for table in sorted(session.tables()):
            session.drop_table(table)
    for session in session_lib.open_sessions():
        _tell_of_what_stays(session)


def _tell_of_what_stays(session: session_lib.Session) -> None:
    tables = session.known_tables()
    if not session.shards or not tables:
        return
    logging.warning(
        "ptf.reset() frees only what this process holds. These tables on shards keep "
        "their rows: %s at %s. Call ptf.Table(name).drop() to drop one.",
        *(", ".join(f"'{table}'" for table in tables), session.shards),
    )
