"""The arguments of a `ptf.ray.Cluster`."""

from __future__ import annotations

import dataclasses

from persia_tf.credentials import tls as tls_lib


@dataclasses.dataclass(frozen=True)
class Settings:
    """The arguments of `ptf.ray.Cluster`, which documents them."""

    shards: int
    standbys: int
    acknowledge: str
    log_root: str | None
    checkpoint_root: str
    name: str
    checkpoint_interval: float | None
    recovery_root: str
    embedding_workers: int
    data_workers: int
    insecure: bool
    cache_rows: int
    worker_timeout: float
    memory_limit: int | None
    cpus: float
    strategy: str
    auth_token_file: str | None
    tls: tls_lib.TLS | None
    start_timeout: float
    log_level: str

    @property
    def checkpoint_folder(self) -> str:
        """The folder of this cluster's checkpoints."""
        return f"{self.checkpoint_root.rstrip('/')}/{self.name}"

    @property
    def shard_processes(self) -> int:
        """How many processes the shards have, with their standbys."""
        return self.shards * (1 + self.standbys)

    @property
    def reserved_cpus(self) -> float:
        """How many CPUs the servers reserve."""
        others = self.embedding_workers + self.data_workers
        return self.cpus * (self.shard_processes + others)
