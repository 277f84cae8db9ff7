"""Selects the rows of a table that an export includes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from persia_tf.base import checks
from persia_tf.layers.absent_ids import OOV_ID
from persia_tf.table import Rows, Table, UsedRows, uninterrupted

_MOST_COUNT = 2**32 - 1
_MOST_ROWS = 2**62
_ORDERS = ("count", "recency")


@dataclasses.dataclass(frozen=True)
class KeepRows:
    """Selects the rows that an export includes, by how the rows were used.

    Training lookups and assignments count as uses of a row. A table records the uses
    only if its layer has a `capacity` or an `eviction`: for other tables, the export
    fails. A row must satisfy all given conditions; `top` then limits the number of such
    rows.

    Example:

    ```python
    rows = ptf.serving.KeepRows(min_count=3, top=1_000_000)
    ptf.serving.export(model, "serving/ranking/1", rows={"user": rows})
    ```

    Args:
        min_count: The minimum number of uses of a row: an integer from 1 to 2**32 - 1.
            Defaults to None: no minimum.
        within_steps: A row must have been used within this many of the table's last
            training lookups, as counted by the row's shard: an integer from 1 to
            2**32 - 1. Only for tables that count time in steps, which are all tables
            without `TTL(seconds=...)`. Defaults to None.
        within_seconds: A row must have been used at most this many seconds ago: an
            integer from 1 to 2**32 - 1. Only for tables with `TTL(seconds=...)`.
            Defaults to None.
        top: The maximum number of rows: an integer of at least 1. Defaults to None: no
            maximum.
        by: Which rows `top` prefers: `"count"`, those used most often, or `"recency"`,
            those used most recently. Ties go to smaller ids. Defaults to `"count"`.

    Raises:
        TypeError: if a number is not an integer.
        ValueError: if a number is out of its range, both `within_steps` and
            `within_seconds` are given, `by` is unknown, or nothing is given.
    """

    min_count: int | None = None
    within_steps: int | None = None
    within_seconds: int | None = None
    top: int | None = None
    by: Literal["count", "recency"] = "count"

    def __post_init__(self) -> None:
        given = {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name != "by" and value is not None
        }
        if not given or {"within_steps", "within_seconds"} <= given.keys():
            raise ValueError(
                "KeepRows needs at least one of `min_count`, `within_steps`, "
                "`within_seconds` and `top`, and takes only one of `within_steps` and "
                "`within_seconds`. "
                f"Received: {given or 'none'}"
            )
        for name, value in given.items():
            checks.integer(name, value, 1, _MOST_ROWS if name == "top" else _MOST_COUNT)
        checks.one_of("by", self.by, _ORDERS)

    @property
    def time(self) -> str | None:
        """The unit of time in the rule's conditions: `"steps"`, `"seconds"` or None."""
        if self.within_steps is not None:
            return "steps"
        return "seconds" if self.within_seconds is not None else None


class AllRows:
    """Selects every row of a table.

    Attributes:
        dim: The number of weights per row.
        cluster: The table's cluster.
        count: The approximate number of selected rows.
        left_out: For each argument of a `KeepRows`: the number of rows that are left
            out because of it.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self.dim = table.dim
        self.cluster = table.cluster
        self.count = len(table)
        self.left_out: dict[str, int] = {}

    def batches(self) -> Iterator[Rows]:
        """Yields the selected rows, in batches."""
        yield from self._table.export()


class ChosenRows(AllRows):
    """Selects the rows of a table that satisfy a rule.

    The constructor reads all rows once to make the selection. The row of
    out-of-vocabulary ids (`OOV_ID`), if there is one, is always selected.

    This object takes 8 bytes of memory per selected row, and at most 32 during its
    construction.

    Args:
        table: The table.
        rule: Says which rows to select.

    Raises:
        FailedPreconditionError: if the table does not record how rows are used.
        ValueError: if the table counts time in another unit than the rule.
    """

    def __init__(self, table: Table, rule: KeepRows) -> None:
        super().__init__(table)
        uninterrupted(lambda: self._choose(table, rule))

    def _choose(self, table: Table, rule: KeepRows) -> None:
        best = _Best(rule.top)
        self.left_out = dict.fromkeys(_reasons(rule), 0)
        reserved: list[int] = []
        for batch in table.export(uses=True):
            _check_time(table, rule, batch)
            batch, has_reserved = _without_reserved(batch)
            reserved += [OOV_ID] * has_reserved
            kept = np.ones(len(batch.ids), bool)
            for reason, passes in _passes(rule, batch):
                self.left_out[reason] += int((kept & ~passes).sum())
                kept &= passes
            ranks = batch.counts if rule.by == "count" else ~batch.ages
            best.add(batch.ids[kept], ranks[kept])
        chosen = best.ids()
        self._ids = np.sort(np.concatenate([chosen, np.array(reserved, np.int64)]))
        self.count = len(self._ids)
        if rule.top is not None:
            self.left_out["top"] = best.seen - len(chosen)

    def batches(self) -> Iterator[Rows]:
        """Yields the selected rows that still exist, in batches."""
        for batch in self._table.export():
            places = np.searchsorted(self._ids, batch.ids)
            places[places == len(self._ids)] = 0
            taken = self._ids[places] == batch.ids if len(self._ids) else places < 0
            if taken.any():
                yield Rows(*(each[taken] for each in batch))


def choices(tables: Mapping[str, Table], rows: Any) -> dict[str, AllRows]:
    """Returns the selection of rows for each table, by full name.

    Args:
        tables: The tables by full name.
        rows: None, a `KeepRows` for all tables, or a dict from names of tables to
            `KeepRows`.

    Raises:
        TypeError: if `rows` has another type.
        ValueError: if `rows` names an unknown table.
    """
    rules = _rules(tables, rows)
    return {
        name: ChosenRows(table, rules[name]) if name in rules else AllRows(table)
        for name, table in tables.items()
    }


def _rules(tables: Mapping[str, Table], rows: Any) -> dict[str, KeepRows]:
    if rows is None:
        return {}
    if isinstance(rows, KeepRows):
        return dict.fromkeys(tables, rows)
    if not isinstance(rows, Mapping) or not all(
        isinstance(rule, KeepRows) for rule in rows.values()
    ):
        raise TypeError(
            "`rows` must be None, a persia_tf.serving.KeepRows, or a dict from table "
            f"names to KeepRows. Received: rows={rows!r}"
        )
    full_names = {table.name: name for name, table in tables.items()}
    unknown = [name for name in rows if name not in {*tables, *full_names}]
    if unknown:
        raise ValueError(
            f"`rows` must name tables of the model, which are {sorted(full_names)}. "
            f"Received: {unknown}"
        )
    return {full_names.get(name, name): rule for name, rule in rows.items()}


class _Best:
    """Collects the `most` ids with the highest ranks; all ids if `most` is None."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._ids: list[np.ndarray] = []
        self._ranks: list[np.ndarray] = []
        self._held = 0
        self.seen = 0

    def add(self, ids: np.ndarray, ranks: np.ndarray) -> None:
        self._ids.append(ids)
        self.seen += len(ids)
        if self._most is None:
            return
        self._ranks.append(ranks)
        self._held += len(ids)
        if self._held > 2 * self._most:
            self._shorten(self._most)

    def ids(self) -> np.ndarray:
        if self._most is not None and self._ids:
            self._shorten(self._most)
        return np.concatenate([np.empty(0, np.int64), *self._ids])

    def _shorten(self, most: int) -> None:
        ids, ranks = np.concatenate(self._ids), np.concatenate(self._ranks)
        best = np.lexsort((ids, ~ranks))[:most]
        self._ids, self._ranks, self._held = [ids[best]], [ranks[best]], len(best)


def _without_reserved(batch: UsedRows) -> tuple[UsedRows, bool]:
    others = batch.ids != OOV_ID
    if others.all():
        return batch, False
    arrays = [
        field[others] if isinstance(field, np.ndarray) else field for field in batch
    ]
    return UsedRows(*arrays), True


def _reasons(rule: KeepRows) -> list[str]:
    return [
        field.name
        for field in dataclasses.fields(rule)
        if field.name != "by" and getattr(rule, field.name) is not None
    ]


def _passes(rule: KeepRows, batch: UsedRows) -> Iterator[tuple[str, np.ndarray]]:
    """Yields, for each argument of the rule, which rows of the batch satisfy it."""
    if rule.min_count is not None:
        yield "min_count", batch.counts >= rule.min_count
    if rule.within_steps is not None:
        yield "within_steps", batch.ages <= rule.within_steps
    if rule.within_seconds is not None:
        yield "within_seconds", batch.ages <= rule.within_seconds


def _check_time(table: Table, rule: KeepRows, batch: UsedRows) -> None:
    if rule.time in (None, batch.time):
        return
    raise ValueError(
        f"table {table.name!r} counts time in {batch.time}: ask for "
        f"`within_{batch.time}`, or give its layer another eviction. Received: {rule}"
    )
