"""The values of a set-up and of its operation: their units, and how they are shown."""

from __future__ import annotations

import dataclasses
from typing import Any

from persia_tf.base.amounts import count_text, given_size_text
from persia_tf.simulation.operation import RECOVERIES

# What the number of a value counts.
COUNT, NUMBER, SIZE, RATE, SHARE, MILLISECONDS, FLAG, CHOICE = (
    *("count", "number", "size", "rate", "share", "milliseconds", "flag", "choice"),
)


@dataclasses.dataclass(frozen=True)
class Field:
    """A value of `Setup` or `Operation`.

    Attributes:
        name: Its attribute.
        option: Its option on the command line.
        kind: What the number counts.
        help: What it is.
        choices: The values that it may have, if it is a choice.
    """

    name: str
    option: str
    kind: str
    help: str
    choices: tuple[str, ...] = ()


SETUP_FIELDS = (
    Field("trainers", "--trainers", COUNT, "training programs, which are synchronous"),
    Field("workers", "--workers", COUNT, "embedding workers; 0 for none"),
    Field("shards", "--shards", COUNT, "PS shards"),
    Field("tables", "--tables", COUNT, "tables that a step looks up"),
    Field("layers", "--layers", COUNT, "embedding layers that a step calls"),
    Field("ids", "--ids", NUMBER, "ids that a step of one trainer looks up"),
    Field("rows", "--rows", NUMBER, "distinct ids among them"),
    Field("examples", "--examples", COUNT, "examples of a step of one trainer"),
    Field("dim", "--dim", COUNT, "weights per row"),
    Field("staleness", "--staleness", COUNT, "steps that an update may be late"),
    Field(
        "dense_seconds",
        "--dense-ms",
        MILLISECONDS,
        "time of the dense part of a step, in ms",
    ),
    Field(
        "dense_cores",
        "--dense-cores",
        NUMBER,
        "cores that the dense part keeps busy; 0 on an accelerator",
    ),
    Field(
        "dense_bytes",
        "--dense-bytes",
        SIZE,
        "bytes of dense gradients that trainers all-reduce, such as 40MB",
    ),
    Field(
        "same_machine",
        "--same-machine",
        FLAG,
        "yes if all programs share one machine; no if each has one of its own",
    ),
    Field("cores", "--cores", COUNT, "cores of each machine"),
    Field(
        "network_bytes_per_second",
        "--network",
        RATE,
        "rate of each machine's network, each direction, such as 100Gb in bits or "
        "12.5GB in bytes per second",
    ),
    Field(
        "delay_seconds",
        "--delay-ms",
        MILLISECONDS,
        "what a message takes to another machine besides, in ms",
    ),
    Field(
        "proxies",
        "--proxies",
        FLAG,
        "yes if the delay is that of proxies on the same machine",
    ),
    Field(
        "busiest",
        "--busiest",
        NUMBER,
        "load of the busiest shard, over the mean of all",
    ),
    Field(
        "slowest",
        "--slowest",
        NUMBER,
        "how many times as long the slowest shard's work takes",
    ),
    Field("in_memory", "--in-memory", SHARE, "share of looked-up rows in memory"),
    Field("state_bytes", "--state-bytes", NUMBER, "bytes of optimizer state per row"),
    Field("table_rows", "--table-rows", NUMBER, "rows of all tables, such as 1e9"),
    Field(
        "shard_bytes",
        "--shard-memory",
        SIZE,
        "memory of each shard for rows, such as 64GiB; 0 for no limit",
    ),
    Field(
        "checkpoint_minutes",
        "--checkpoint-minutes",
        NUMBER,
        "how often a checkpoint is saved, in minutes; 0 for never",
    ),
)

OPERATION_FIELDS = (
    Field(
        "stored_weight_bytes",
        "--stored-weight-bytes",
        NUMBER,
        "bytes of a weight on shards: 4 for float32, 2 for float16",
    ),
    Field(
        "days_between_failures",
        "--days-between-failures",
        NUMBER,
        "mean time between two failures of one machine, in days",
    ),
    Field(
        "restart_minutes",
        "--restart-minutes",
        NUMBER,
        "time until programs train again after a failure, in minutes",
    ),
    Field(
        "recovery",
        "--recovery",
        CHOICE,
        "how a lost shard comes back: from its log, as its standby, or only from the "
        "last checkpoint",
        RECOVERIES,
    ),
    Field("open_files", "--open-files", COUNT, "files that a process may have open"),
    Field(
        "timeout_seconds",
        "--timeout",
        NUMBER,
        "how long a program waits for a shard, in seconds",
    ),
)

FIELDS = (*SETUP_FIELDS, *OPERATION_FIELDS)


def shown(kind: str, value: Any) -> str:
    """Returns a value of a kind, as text."""
    if kind == FLAG:
        return "yes" if value else "no"
    if kind == CHOICE:
        return value
    if kind == SIZE:
        return given_size_text(value)
    if kind == RATE:
        return f"{count_text(8 * value)}b/s"
    if kind == MILLISECONDS:
        return f"{1000 * value:g} ms"
    if kind == SHARE:
        return f"{value:.3%}" if value not in (0, 1) else f"{value:.0%}"
    return f"{value:,.10g}" if value < 1e6 else f"{value:.4g}"
