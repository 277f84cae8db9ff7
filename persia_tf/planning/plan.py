"""`ptf.Plan`: what a run needs."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from persia_tf.planning.estimate import Estimate
from persia_tf.planning.parts import ShardsPlan, TablePlan
from persia_tf.planning.text import plan_text


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
        warnings: What makes the plan less certain, a sentence each.
    """

    batch_size: float
    sample_steps: int
    run_steps: int
    epochs: int
    tables: tuple[TablePlan, ...]
    shards: tuple[ShardsPlan, ...]
    warnings: tuple[str, ...]

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

        >>> plan.to_dict()["tables"][0]["rows"]
        {'value': 61552.0, 'low': 54000.0, 'high': 67000.0}
        """
        return json.loads(json.dumps(dataclasses.asdict(self)))

    def to_json(self, indent: int | None = None) -> str:
        """Returns the plan as JSON, indented by some spaces, or on one line."""
        return json.dumps(dataclasses.asdict(self), indent=indent)

    def __str__(self) -> str:
        return plan_text(self)
