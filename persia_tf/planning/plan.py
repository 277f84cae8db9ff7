"""`ptf.Plan`: what a run needs."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from persia_tf.planning.estimate import Estimate
from persia_tf.planning.page import plan_page
from persia_tf.planning.parts import ShardsPlan, TablePlan
from persia_tf.planning.text import plan_text
from persia_tf.planning.time_parts import RunTimes


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a run needs, as `ptf.plan` predicts it. `print(plan)` shows it as tables.

    Example:

    ```python
    plan = ptf.plan(model, sample, run_steps=100_000)
    print(plan)
    plan.rows.value, plan.shards[-1].busiest_ids
    ```

    Attributes:
        batch_size: The mean number of examples of a batch.
        sample_steps: How many batches of the sample were read.
        run_steps: How many steps the run has in one epoch.
        epochs: How often the run passes over these steps.
        tables: What each table needs, in the model's order.
        shards: What each number of shards has to do, in the order asked for.
        memory_limit: The memory for tables on each shard, in bytes; None for no limit.
        least_shards: The least number of shards whose memory is within the limit, by
            the upper end of its interval, at most 1024. None if so many are not enough,
            and without a limit. It need not be one of the numbers asked for.
        warnings: What makes the plan less certain, a sentence each.
        times: For which run, and with which machines, each of `shards` has `times`;
            None unless asked for.
    """

    batch_size: float
    sample_steps: int
    run_steps: int
    epochs: int
    tables: tuple[TablePlan, ...]
    shards: tuple[ShardsPlan, ...]
    memory_limit: int | None
    least_shards: int | None
    warnings: tuple[str, ...]
    times: RunTimes | None = None

    @property
    def rows(self) -> Estimate:
        """The rows of all tables at the end of the run."""
        return Estimate.sum(table.rows for table in self.tables)

    @property
    def bytes(self) -> Estimate:
        """The memory of all tables on one shard at the end of the run."""
        return Estimate.sum(table.bytes for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan as a dict of what JSON has.

        Example:

        ```python
        rows = plan.to_dict()["tables"][0]["rows"]
        rows["value"], rows["low"], rows["high"]
        ```

        Returns:
            A dict whose keys are the attributes of the plan, its tables and its shards.
        """
        return json.loads(json.dumps(dataclasses.asdict(self)))

    def to_json(self, indent: int | None = None) -> str:
        """Returns the plan as JSON.

        Args:
            indent: By how many spaces to indent. Defaults to None: one line.

        Raises:
            TypeError: if `indent` is no number of spaces.
        """
        if isinstance(indent, (str, os.PathLike)):
            raise TypeError(
                "`indent` must be a number of spaces: write the JSON that `to_json` "
                "returns to a file yourself, by Path(name).write_text(plan.to_json()). "
                f"Received: indent={indent!r}"
            )
        return json.dumps(dataclasses.asdict(self), indent=indent)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan as a page with the tables of its text, and plots.

        The page is one file, which loads nothing from elsewhere. For each table it
        plots the distinct ids by the number of steps, and the hit rate by the number of
        hottest rows that are kept; and the memory of a shard by the number of shards.

        Args:
            path: The file, which is replaced if it exists. Its folder must exist.

        Raises:
            ValueError: if `path` names a folder, or is in a folder that does not exist.
        """
        _check_file(Path(path))
        Path(path).write_text(plan_page(self), encoding="utf-8")

    def __str__(self) -> str:
        return plan_text(self)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise ValueError(
            "`path` must name a file, and is a folder: add the name of a file, such as "
            f"plan.html. Received: path={str(path)!r}"
        )
    if not path.absolute().parent.is_dir():
        raise ValueError(
            "`path` must be in a folder that exists: create it first. Received: "
            f"path={str(path)!r}"
        )
