"""The tables of a standalone export, which holds their rows."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from persia_tf.checkpoint.progress_bar import ProgressBar
from persia_tf.checkpoint.shards import Shards
from persia_tf.cluster import Cluster
from persia_tf.serving.export_manifest import ExportedTable
from persia_tf.serving.kept_rows import AllRows
from persia_tf.serving.served_table import ServedTable
from persia_tf.table import uninterrupted


class StandaloneTables:
    """The tables of a model, filled with the rows that an export includes.

    Args:
        chosen: The selected rows of each table, by the table's full name.
        row_dtype: The format of stored weights: one of `served_rows.ROW_DTYPES`.
        progress: Whether to show a progress bar.

    Attributes:
        by_name: A `ServedTable` for each table, by full name.
        base_save: The number of a checkpoint of the shards. All rows are at least as
            new as in this checkpoint. 0 if no such checkpoint is known.

    Raises:
        PersiaError: if a shard does not answer in time (the error names the shard).
    """

    def __init__(
        self, chosen: Mapping[str, AllRows], row_dtype: str, progress: bool
    ) -> None:
        count = sum(rows.count for rows in chosen.values())
        tell = _Progress(count) if progress else None
        self._chosen = chosen
        self._row_dtype = row_dtype
        # The checkpoint's number is read before any row, so that all rows are at least
        # as new as in the checkpoint.
        self.base_save = _last_save([rows.cluster for rows in chosen.values()])
        self.by_name = {
            name: uninterrupted(functools.partial(_filled, rows, row_dtype, tell))
            for name, rows in chosen.items()
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


def _filled(rows: AllRows, row_dtype: str, tell: _Progress | None) -> ServedTable:
    if tell is not None:
        tell.begin_table()
    # `rows.count` is only a hint: the served table grows if training creates further
    # rows meanwhile.
    served = ServedTable(rows.count + 1, rows.dim, row_dtype)
    for batch in rows.batches():
        served.append(batch.ids, batch.rows)
        if tell is not None:
            tell.add(len(batch.ids))
    if tell is not None:
        tell.end_table()
    return served


class _Progress:
    """A progress bar over the rows of all tables."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0  # In the tables that are complete.
        self._in_table = 0
        self._bar = ProgressBar("Exporting")

    def begin_table(self) -> None:
        self._in_table = 0

    def end_table(self) -> None:
        self._done += self._in_table
        self._in_table = 0

    def add(self, rows: int) -> None:
        self._in_table += rows
        self._bar.show(self._done + self._in_table, self._total)
