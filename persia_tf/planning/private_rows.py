"""Tables like those of a model, in a store of this process that nothing else uses."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence

from persia_tf.client import session as session_lib
from persia_tf.planning.model_tables import ModelTable

_numbers = itertools.count(1)


@contextlib.contextmanager
def private_sessions(tables: Sequence[ModelTable]) -> Iterator[dict[str, str]]:
    """Makes empty tables with the settings of a model's, for a `with` block.

    Args:
        tables: The model's tables.

    Yields:
        For the name of each session of the tables, the name of a session with tables of
        the same names. It trains synchronously, whatever the staleness of the other.
    """
    names: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        for table in tables:
            session, full_name = table.key
            if session not in names:
                names[session] = f"planned {next(_numbers)}"
                stack.callback(session_lib.discard_session, names[session])
            options = session_lib.SessionOptions(staleness=0)
            opened = session_lib.open_session((), options, names[session])
            opened.create_table(full_name, table.settings)
        yield names
