"""Lets other sessions stand in for those of layers, to time steps without shards."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

_current = threading.local()


class StandIns:
    """The sessions that stand in for others.

    Args:
        sessions: For the name of each session the name of the one that stands in.
    """

    def __init__(self, sessions: Mapping[str, str]) -> None:
        self._sessions = dict(sessions)
        self._kept: list[Any] = []

    def session_of(self, name: str) -> str:
        """Returns the name of the session that stands in for a session."""
        return self._sessions[name]

    def keep(self, value: Any) -> Any:
        """Returns a value, which lives until the sessions no longer stand in."""
        self._kept.append(value)
        return value


@contextlib.contextmanager
def stood_in_by(sessions: Mapping[str, str]) -> Iterator[None]:
    """Lets sessions stand in for those of layers in a `with` block, in this thread.

    Layers then look rows up in them, and commit updates to them, with the ops that any
    training runs. Nothing is asked of the layers' own sessions. A graph that is traced
    in the block uses these sessions for ever, so drop such graphs afterwards.

    Args:
        sessions: For the name of each session of the layers the name of the one that
            stands in. It must have the same tables.
    """
    _current.stand_ins = StandIns(sessions)
    try:
        yield
    finally:
        _current.stand_ins = None


def stand_ins() -> StandIns | None:
    """The sessions that stand in for others in this thread, or None."""
    return getattr(_current, "stand_ins", None)


def session_of(name: str) -> str:
    """Returns the name of the session to use for a layer's session."""
    standing_in = stand_ins()
    return name if standing_in is None else standing_in.session_of(name)
