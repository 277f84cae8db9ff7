"""Shards with tables like those of a model, which only the trial of a plan uses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from persia_tf.client import session as session_lib
from persia_tf.local_shards import local_cluster
from persia_tf.planning.model_tables import ModelTable

_TIMEOUT = 60.0


@contextlib.contextmanager
def trial_sessions(
    tables: Sequence[ModelTable], shards: int
) -> Iterator[dict[str, str]]:
    """Starts shards with empty tables like those of a model, for a `with` block.

    Args:
        tables: The model's tables.
        shards: The number of shards.

    Yields:
        For the name of each session of the tables, the name of a session with tables of
        the same names and settings. It trains synchronously, whatever the staleness of
        the other.

    Raises:
        UnavailableError: if a shard does not start.
    """
    local = local_cluster(shards)
    addresses = local.start().shards
    sessions: dict[str, session_lib.Session] = {}
    with contextlib.ExitStack() as stack:
        stack.callback(local.stop)
        for table in tables:
            session, full_name = table.key
            if session not in sessions:
                options = session_lib.SessionOptions(
                    # Sessions that have the same shards differ by their timeouts.
                    timeout=_TIMEOUT + len(sessions),
                    staleness=0,
                    wire_dtype=table.wire_dtype,
                    hot_rows=table.hot_rows,
                )
                opened = session_lib.open_session(addresses, options)
                stack.callback(session_lib.discard_session, opened.name)
                sessions[session] = opened
            sessions[session].create_table(full_name, table.settings)
        yield {session: opened.name for session, opened in sessions.items()}
