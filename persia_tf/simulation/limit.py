"""A limit of a cluster, and how far it is."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from persia_tf.simulation.costs import Costs
from persia_tf.simulation.operation import STANDBY, Operation
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import Simulated


@dataclasses.dataclass(frozen=True)
class Limit:
    """What grows with a cluster, and how much of it is possible.

    Attributes:
        name: What it is.
        number: How much of it the set-up has.
        limit: How much is possible.
        unit: "bytes", "seconds", "share" of a whole, or "" for a count.
        source: Where the limit comes from.
        remedy: What must change if it is exceeded: first what users can do, then what
            in the code.
        beyond: What happens beyond the limit: "fails", or "slower".
    """

    name: str
    number: float
    limit: float
    unit: str
    source: str
    remedy: str
    beyond: str = "fails"

    @property
    def headroom(self) -> float:
        """How many times the number fits in the limit; below 1, it does not fit."""
        return self.limit / self.number if self.number > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Returns the limit as a dict of what JSON has; an endless headroom is None."""
        headroom = self.headroom
        return {
            **dataclasses.asdict(self),
            "headroom": headroom if math.isfinite(headroom) else None,
        }


@dataclasses.dataclass(frozen=True)
class Facts:
    """What limits are computed from.

    Attributes:
        setup: The cluster, and what its trainers do.
        operation: How it is run.
        costs: What work takes.
        simulated: What the cluster does.
        slowed: What it does if the work of one shard takes twice as long.
    """

    setup: Setup
    operation: Operation
    costs: Costs
    simulated: Simulated
    slowed: Simulated

    @property
    def clients(self) -> int:
        """How many programs ask each shard."""
        return self.setup.workers or self.setup.trainers

    @property
    def machines(self) -> int:
        """How many machines may fail."""
        setup = self.setup
        if setup.same_machine:
            return 1
        standbys = setup.shards if self.operation.recovery == STANDBY else 0
        return setup.trainers + setup.workers + setup.shards + standbys

    @property
    def rows_of_shard(self) -> float:
        """Rows on each shard."""
        return self.setup.table_rows / self.setup.shards

    @property
    def saved_row_bytes(self) -> float:
        """Bytes of a row in a checkpoint, and in the log's base."""
        setup, id_bytes = self.setup, 8
        weights = setup.dim * self.operation.stored_weight_bytes
        return id_bytes + weights + setup.state_bytes

    @property
    def row_bytes(self) -> float:
        """Bytes of a row in a shard's memory, with its place in the index."""
        setup, weight = self.setup, self.operation.stored_weight_bytes
        return setup.dim * weight + setup.state_bytes + self.costs.row_index_bytes

    @property
    def seconds_between_failures(self) -> float:
        """The mean time between two failures of any machine."""
        return self.operation.days_between_failures * 86_400 / self.machines
