"""Which of the two actors of a shard serves it, and whose folder has which rows."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
from pathlib import Path

from persia_tf import files


@dataclasses.dataclass(frozen=True)
class Serving:
    """Which actor has the rows that count.

    Attributes:
        side: The actor: 0 or 1.
        former: The address of the process whose place the actor has taken, as its
            standby; None if it began as the shard.
        term: Rises by 1 with each promotion.
    """

    side: int = 0
    former: str | None = None
    term: int = 0

    def taken_by(self, side: int, former: str | None) -> Serving:
        """Returns what is to be recorded before an actor takes the place."""
        if self.side == side:  # It was interrupted.
            return self
        return Serving(side, former, self.term + 1)

    def given_back(self, side: int) -> Serving:
        """Returns what is to be recorded after an actor could not take the place."""
        if self.side != side:
            return self
        return Serving(1 - side, None, self.term - 1)


class PairRecord:
    """The record of one shard, in a folder that all nodes share.

    An actor records that it takes the other one's place before it does so, since its
    process may end at any moment. Only one of the two writes at a time: the one whose
    place is taken has ended.

    Args:
        path: What the names of the record's files begin with.
        side: The actor that reads and writes: 0 or 1.
    """

    def __init__(self, path: str, side: int) -> None:
        self._path = path
        self._side = side

    def serving(self) -> Serving:
        """Returns which actor serves; the first one if none was recorded yet."""
        try:
            text = Path(f"{self._path}-serving").read_text()
        except FileNotFoundError:
            return Serving()
        return Serving(**json.loads(text))

    def set_serving(self, serving: Serving) -> None:
        """Records, durably, which actor serves."""
        self._write("serving", json.dumps(dataclasses.asdict(serving)))

    def node_of(self, side: int) -> str | None:
        """Returns the id of the node on which an actor was last started, if any."""
        with contextlib.suppress(FileNotFoundError):
            return Path(f"{self._path}-node-{side}").read_text()
        return None

    def set_node(self, node: str) -> None:
        """Records the node on which this actor is started."""
        self._write(f"node-{self._side}", node)

    def _write(self, name: str, text: str) -> None:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        # A name of this side's own, should the other one's last write still go on.
        own = f"{self._path}-{name}-by-{self._side}"
        files.write_file(own, text.encode())
        os.replace(own, f"{self._path}-{name}")


class LogFolder:
    """The recovery folder of an actor, on its own node.

    A file beside it says what its rows are. The actor may come back to a node on which
    it was long ago, with a folder of that time.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._about = Path(f"{path}.json")

    def has(self, role: str, term: int) -> bool:
        """Returns whether the folder has what an actor had in a role and a term.

        Args:
            role: `"shard"` or `"standby"`.
            term: As in `Serving`.
        """
        try:
            found = json.loads(self._about.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return False
        return found == {"role": role, "term": term} and self.path.exists()

    def use(self, role: str, term: int, *, keep: bool) -> None:
        """Records what the folder has from now on.

        Args:
            role: `"shard"` or `"standby"`.
            term: As in `Serving`.
            keep: Whether what the folder has stays.
        """
        if not keep:
            self.remove()
        # Others may not read rows of users.
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)
        about = json.dumps({"role": role, "term": term})
        files.write_file(str(self._about), about.encode())

    def remove(self) -> None:
        """Removes the folder, and what is said of it."""
        self._about.unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)
