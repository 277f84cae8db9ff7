"""The recovery folders of a shard and its standby that run on one machine."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from persia_tf import errors, files
from persia_tf.base.addresses import Address, parse


class ShardFolders:
    """The two recovery folders of a shard: its own, and that of its standby.

    When the standby takes the shard's place, the folders change roles. A file beside
    them says so to later launches. It is written before the standby is told to, since a
    launch may be killed at any moment: then the next one finishes the promotion.

    Args:
        root: The folder that contains both.
        index: The shard's index.
    """

    def __init__(self, root: str | os.PathLike[str], index: int) -> None:
        self._root = Path(root)
        self._names = (f"ps-{index}", f"ps-{index}b")
        self._record = self._root / f"ps-{index}.serving"
        self._serving = 0
        # The address of the primary whose place the serving folder's process takes.
        self.former_primary: Address | None = None
        with contextlib.suppress(FileNotFoundError):
            self._read(self._record.read_text())

    @property
    def serving(self) -> str:
        """The folder with the shard's rows."""
        return str(self._root / self._names[self._serving])

    @property
    def spare(self) -> str:
        """The folder of the standby."""
        return str(self._root / self._names[1 - self._serving])

    def begin_promotion(self, primary: Address) -> None:
        """Records, durably, that the standby's folder is to serve.

        Args:
            primary: The address of the process whose place the standby takes.
        """
        self._write(1 - self._serving, primary)

    def undo_promotion(self) -> None:
        """Records that the promotion that began was refused."""
        self._write(1 - self._serving, None)

    def end_promotion(self) -> None:
        """Empties the folder of the former primary, and records that this is done."""
        self.empty_spare()
        self._write(self._serving, None)

    def empty_spare(self) -> None:
        """Removes what is in the standby's folder."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.spare)
        os.makedirs(self.spare)

    def _write(self, serving: int, former_primary: Address | None) -> None:
        words = [self._names[serving], *([str(former_primary)] * bool(former_primary))]
        files.write_file(str(self._record), f"{' '.join(words)}\n".encode())
        self._serving = serving
        self.former_primary = former_primary

    def _read(self, text: str) -> None:
        name, *former = text.split() or [""]
        if name not in self._names or len(former) > 1:
            raise errors.InvalidArgumentError(
                f"{self._record} must name the folder with the shard's rows, "
                f"{' or '.join(self._names)}. Received: {text!r}"
            )
        self._serving = self._names.index(name)
        if former:
            self.former_primary = parse(former[0])


def serving(root: str | os.PathLike[str] | None, index: int) -> str | None:
    """Returns the folder with a shard's rows; None if `root` is None or empty."""
    return ShardFolders(root, index).serving if root else None
