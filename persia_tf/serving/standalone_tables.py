"""The tables of a standalone export, which holds their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from persia_tf.checkpoint.progress_bar import ProgressBar
from persia_tf.checkpoint.shards import Shards
from persia_tf.cluster import Cluster
from persia_tf.serving.frozen_table import FrozenTable
from persia_tf.serving.kept_rows import AllRows
from persia_tf.serving.manifest import ExportedTable


class StandaloneTables:
    """The tables of a model, filled with the rows that an export takes.

    Args:
        chosen: The rows of each table, by the table's full name.
        row_dtype: How weights are stored: one of `frozen_rows.ROW_DTYPES`.
        progress: Whether to show a progress bar.

    Attributes:
        by_name: A `FrozenTable` for each table, by full name.
        base_save: The number of a checkpoint of the shards that all rows are at least
            as new as; 0 if none is known.

    Raises:
        PersiaError: if a shard does not answer in time (it is named).
    """

    def __init__(
        self, chosen: Mapping[str, AllRows], row_dtype: str, progress: bool
    ) -> None:
        count = sum(rows.count for rows in chosen.values())
        tell = _Progress(count) if progress else None
        self._chosen = chosen
        self._row_dtype = row_dtype
        # Asked before any row is read, so that all rows are at least as new.
        self.base_save = _last_save([rows.cluster for rows in chosen.values()])
        self.by_name = {
            name: _filled(rows, row_dtype, tell) for name, rows in chosen.items()
        }

    def told(self) -> dict[str, Any]:
        """Returns the fields of the manifest that describe the tables."""
        return {
            "tables": tuple(
                ExportedTable(
                    *(name, table.dim, self._row_dtype, table.rows, table.bytes),
                    left_out=self._chosen[name].left_out,
                )
                for name, table in self.by_name.items()
            )
        }


def _last_save(clusters: Iterable[Cluster]) -> int:
    sessions = {cluster.session for cluster in clusters}
    if len(sessions) != 1:
        return 0
    saves = Shards(sessions.pop()).base_ids()
    return saves.pop() if len(saves) == 1 else 0


def _filled(rows: AllRows, row_dtype: str, tell: _Progress | None) -> FrozenTable:
    # `rows.count` is a hint: the table grows if rows are created meanwhile.
    frozen = FrozenTable(rows.count + 1, rows.dim, row_dtype)
    for batch in rows.batches():
        frozen.append(batch.ids, batch.rows)
        if tell is not None:
            tell.add(len(batch.ids))
    return frozen


class _Progress:
    """A progress bar over the rows of all tables."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._bar = ProgressBar("Exporting")

    def add(self, rows: int) -> None:
        self._done += rows
        self._bar.show(self._done, self._total)
