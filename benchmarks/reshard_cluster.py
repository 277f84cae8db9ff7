"""A cluster of two shards, and a third shard that joins and leaves it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import workload_w1
from shard_processes import ShardProcess, running_shards

import persia_tf as ptf
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.driver import ReshardProgress, reshard
from persia_tf.resharding.plan import even_moves

TABLE = "rows"
FEW, MANY = 2, 3  # Shards before and after the third one joins.
_TIMEOUT = 60.0
_FILL_ROWS = 200_000  # Per request.


class Moved(NamedTuple):
    """A move of slots that has ended.

    Attributes:
        progress: What `reshard` returned.
        begin: When it was called, by `time.monotonic()`.
        end: When it returned.
        rows: How many rows have another owner since.
    """

    progress: ReshardProgress
    begin: float
    end: float
    rows: int

    @property
    def seconds(self) -> float:
        return self.end - self.begin


def ids_of(ranks: np.ndarray) -> np.ndarray:
    """Returns the ids of the table's rows, for ranks from 0 on."""
    return workload_w1.ids_of(ranks, np.array(0))


def embedding(dim: int, cluster: ptf.Cluster) -> ptf.layers.PersiaEmbedding:
    """Returns a layer on the table, with Adagrad."""
    adagrad = ptf.optimizers.Adagrad(learning_rate=0.01)
    return ptf.layers.PersiaEmbedding(
        dim, table=TABLE, optimizer=adagrad, cluster=cluster
    )


class MovingCluster:
    """Shards with a filled table, whose slots move to a third shard and back.

    Args:
        shards: The three shards; the first two form the cluster.
        rows: How many rows to create.
        dim: The weights of a row.

    Attributes:
        shards: The shards.
        ids: The ids of all rows.
        row_bytes: The bytes of a row: its id, weights and optimizer state.
    """

    def __init__(self, shards: Sequence[ShardProcess], rows: int, dim: int) -> None:
        self.shards = list(shards)
        self.dim = dim
        self.ids = ids_of(np.arange(rows))
        self._cluster = ptf.Cluster(self.addresses[:FEW], timeout=_TIMEOUT)
        embedding(dim, self._cluster).build((None,))
        self._fill()
        page = next(ptf.Table(TABLE, self._cluster).export())
        numbers = page.rows.shape[1] + page.state.shape[1]
        self.row_bytes = self.ids.itemsize + 4 * numbers
        self._slots = ptf.following.slots_of(self.ids)

    @property
    def addresses(self) -> list[str]:
        return [shard.address for shard in self.shards]

    @property
    def pids(self) -> list[int]:
        return [shard.pid for shard in self.shards]

    def move(self, shards: int) -> Moved:
        """Makes the first shards the owners of all slots, as `persia reshard` does."""
        with ClusterAdmin(self.addresses[:1], _TIMEOUT) as admin:
            before = admin.topology().owners
            begin = time.monotonic()
            progress = reshard(admin, self.addresses[:shards])
            end = time.monotonic()
            moved = before != admin.topology().owners
        return Moved(progress, begin, end, np.count_nonzero(moved[self._slots]))

    def there_and_back(self) -> list[Moved]:
        """Moves slots to the third shard, and back."""
        return [self.move(MANY), self.move(FEW)]

    def moving_and_staying(self, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ids that each of the next moves moves, and those that none does.

        Args:
            rounds: How often `there_and_back` is called. Each time, a few other slots
                may move.
        """
        with ClusterAdmin(self.addresses[:1], _TIMEOUT) as admin:
            members = [admin.join(address) for address in self.addresses]
            owners = admin.topology().owners
        always = np.ones(owners.size, bool)
        never = np.ones(owners.size, bool)
        for shards in [MANY, FEW] * rounds:
            moves = np.zeros(owners.size, bool)
            for move in even_moves(owners, members[:shards]):
                moves[move.slots] = True
                owners = owners.copy()
                owners[move.slots] = move.taker
            always &= moves
            never &= ~moves
        return self.ids[always[self._slots]], self.ids[never[self._slots]]

    def _fill(self) -> None:
        table = ptf.Table(TABLE, self._cluster)
        random = np.random.default_rng(0)
        for begin in range(0, len(self.ids), _FILL_ROWS):
            ids = self.ids[begin : begin + _FILL_ROWS]
            rows = random.uniform(-0.05, 0.05, (len(ids), self.dim))
            table.assign(ids, rows.astype("float32"))


@contextlib.contextmanager
def running_cluster(
    rows: int, dim: int, recovery_folder: Path | None
) -> Iterator[MovingCluster]:
    """Runs a `MovingCluster` until the block ends.

    Args:
        rows: How many rows to create.
        dim: The weights of a row.
        recovery_folder: Where the shards keep what they recover from, or None.
    """

    def options(shard: int) -> list[str]:
        if recovery_folder is None:
            return []
        return [f"--recovery-folder={recovery_folder / str(shard)}"]

    with contextlib.ExitStack() as stack:
        shards: list[Any] = []
        for shard in range(MANY):
            shards += stack.enter_context(running_shards(1, options(shard)))
        yield MovingCluster(shards, rows, dim)
