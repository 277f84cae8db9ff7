"""Which of the two actors of a shard serves it, in a file that all nodes share."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

from persia_tf import files


@dataclasses.dataclass(frozen=True)
class Serving:
    """Which actor has the rows that count.

    Attributes:
        side: The actor: 0 or 1.
        former: The address of the process whose place the actor has taken, as its
            standby; None if it began as the shard.
    """

    side: int = 0
    former: str | None = None


class PairRecord:
    """The record of one shard. Only the actor that takes the other's place writes it.

    It is written before the actor does so, since its process may end at any moment:
    then the actor completes that when it is restarted.

    Args:
        path: What the names of the record's files begin with, in a folder that all
            nodes share.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        os.makedirs(os.path.dirname(path), exist_ok=True)

    def serving(self) -> Serving:
        """Returns which actor serves; the first one if none was recorded yet."""
        try:
            text = Path(f"{self._path}-serving").read_text()
        except FileNotFoundError:
            return Serving()
        return Serving(**json.loads(text))

    def set_serving(self, serving: Serving) -> None:
        """Records, durably, which actor serves."""
        text = json.dumps(dataclasses.asdict(serving))
        files.write_file(f"{self._path}-serving", text.encode())

    def node_of(self, side: int) -> str | None:
        """Returns the id of the node on which an actor was last started, if any."""
        try:
            return Path(f"{self._path}-{side}-node").read_text()
        except FileNotFoundError:
            return None

    def set_node_of(self, side: int, node: str) -> None:
        """Records the node on which an actor is started."""
        files.write_file(f"{self._path}-{side}-node", node.encode())
