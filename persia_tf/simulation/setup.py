"""The set-up that is simulated."""

from __future__ import annotations

import dataclasses

from persia_tf.native import core_limits


@dataclasses.dataclass(frozen=True)
class Setup:
    """A cluster and what its trainers do, for `persia_tf.simulation.simulate`.

    Example:

    ```python
    setup = Setup(trainers=8, shards=4, dense_seconds=0.02, same_machine=False)
    ```

    Attributes:
        trainers: Training programs, which train synchronously with each other.
        workers: Embedding workers, between the trainers and the shards; 0: the
            trainers ask the shards themselves.
        shards: PS shards.
        tables: Tables that a step looks up.
        layers: Embedding layers that a step calls: `PersiaEmbeddings(joined=True)` is
            one layer of all its tables.
        ids: Ids that a step of one trainer looks up, duplicates and all.
        rows: Distinct ids among them.
        examples: Examples of a step of one trainer.
        dim: Weights per row, float32.
        staleness: How many steps an update may be late; lookups are prefetched by as
            many steps. 0 trains synchronously.
        dense_seconds: The time of the dense part of a step on an idle trainer.
        dense_cores: How many cores the dense part keeps busy on the mean; 0 if it runs
            on an accelerator.
        dense_bytes: Bytes of dense gradients, which trainers all-reduce in a ring.
        same_machine: Whether all programs share the cores of one machine, and its
            loopback interface, whose rate is not limited.
        cores: Cores of a machine: of the one, or of that of each program.
        network_bytes_per_second: The rate of each machine's interface, each direction.
        delay_seconds: What a message takes to the other machine besides, each
            direction.
        proxies: Whether the delay is that of proxies on the same machine, which need
            its cores.
        busiest: The load of the busiest shard over the mean of all shards.
        slowest: How many times as long as the others' the slowest shard's work takes.
        in_memory: The share of the rows that a step looks up that are in memory. The
            others are read from the shard's disk.
        state_bytes: Bytes of optimizer state per row on shards.
        table_rows: Rows of all tables.
        shard_bytes: The memory of each shard, for rows; 0 if it is not limited.
        checkpoint_minutes: How often a checkpoint is saved, in minutes.
    """

    trainers: int = 1
    workers: int = 0
    shards: int = 1
    tables: int = 26
    layers: int = 1
    ids: float = 26 * 4096
    rows: float = 25_000
    examples: int = 4096
    dim: int = 16
    staleness: int = 4
    dense_seconds: float = 0.0
    dense_cores: float = 1.0
    dense_bytes: float = 0.0
    same_machine: bool = True
    cores: int = 2
    network_bytes_per_second: float = 1.25e9
    delay_seconds: float = 0.0
    proxies: bool = False
    busiest: float = 1.0
    slowest: float = 1.0
    in_memory: float = 1.0
    state_bytes: float = 64.0
    table_rows: float = 1e7
    shard_bytes: float = 0.0
    checkpoint_minutes: float = 60.0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not value >= least:  # Not a number is refused, too.
                raise ValueError(
                    f"`{name}` must be at least {least}. Received: {name}={value!r}"
                )
        if self.shards > core_limits.SLOTS:
            raise ValueError(
                f"`shards` must be at most {core_limits.SLOTS}, since each owns at "
                f"least one slot. Received: shards={self.shards!r}"
            )
        if self.in_memory > 1:
            raise ValueError(
                "`in_memory` must be at most 1, the share of rows in memory. Received: "
                f"in_memory={self.in_memory!r}"
            )
        if self.rows > self.ids:
            raise ValueError(
                "`rows` must be at most `ids`: it counts the distinct ones of them. "
                f"Received: rows={self.rows!r}, ids={self.ids!r}"
            )
        if self.proxies and not self.same_machine:
            raise ValueError(
                "`proxies` must be False unless `same_machine` is True: between "
                "machines, the network delays. Received: proxies=True"
            )

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's weights in a message."""
        return 4 * self.dim


_LEAST = {
    "trainers": 1,
    "workers": 0,
    "shards": 1,
    "tables": 1,
    "layers": 1,
    "ids": 0,
    "rows": 0,
    "examples": 1,
    "dim": 1,
    "staleness": 0,
    "dense_seconds": 0,
    "dense_cores": 0,
    "dense_bytes": 0,
    "cores": 1,
    "network_bytes_per_second": 1,
    "delay_seconds": 0,
    "busiest": 1,
    "slowest": 1,
    "in_memory": 0,
    "state_bytes": 0,
    "table_rows": 0,
    "shard_bytes": 0,
    "checkpoint_minutes": 0,
}
