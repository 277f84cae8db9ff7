"""How a cluster is run: what limits depend on besides a set-up."""

from __future__ import annotations

import dataclasses

# How a lost shard comes back: from its own log, as the standby that has its rows, or
# from the last checkpoint, at which the programs begin again.
LOG, STANDBY, CHECKPOINT = RECOVERIES = ("log", "standby", "checkpoint")


@dataclasses.dataclass(frozen=True)
class Operation:
    """What is assumed of machines and of how a cluster is run.

    None of it is measured: whoever asks knows better.

    Attributes:
        stored_weight_bytes: Bytes of a weight on shards: 4 for float32, 2 for float16.
        days_between_failures: The mean time between two failures of one machine, in
            days.
        restart_minutes: How long it takes until programs train again after a failure,
            besides what reading rows takes, in minutes.
        recovery: How a lost shard comes back: "log", "standby" or "checkpoint". With
            standbys, each shard has one, on a machine of its own.
        open_files: How many files and connections a process may have open: its hard
            limit.
        timeout_seconds: How long a program waits for a shard: `Cluster(timeout=)`.
    """

    stored_weight_bytes: float = 4.0
    days_between_failures: float = 365.0
    restart_minutes: float = 5.0
    recovery: str = LOG
    open_files: float = 524_288.0
    timeout_seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.recovery not in RECOVERIES:
            raise ValueError(
                f"`recovery` must be one of {', '.join(RECOVERIES)}. Received: "
                f"recovery={self.recovery!r}"
            )
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str):
                continue
            if not value > 0:  # Not a number is refused, too.
                raise ValueError(
                    f"`{field.name}` must be above 0. Received: {field.name}={value!r}"
                )
