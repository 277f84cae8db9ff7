"""What each piece of work takes, as benchmarks have measured it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from persia_tf.base.store_layout import SUB_SHARDS

MEASURED = Path(__file__).with_name("constants.json")


@dataclasses.dataclass(frozen=True)
class Work:
    """The time that a thread needs for its part of a lookup or an update.

    Attributes:
        call: Seconds per lookup or update, of however many shards.
        request: Seconds per request to a shard.
        table: Seconds per table of a request.
        part: Seconds per part of a table, of those that its rows are divided among by
            their ids, that has rows of the request: see `parts_of`.
        row: Seconds per row.
        byte: Seconds per byte of the rows' weights or gradients.
    """

    call: float = 0.0
    request: float = 0.0
    table: float = 0.0
    part: float = 0.0
    row: float = 0.0
    byte: float = 0.0

    def seconds(
        self, calls: float, requests: float, tables: float, rows: float, size: float
    ) -> float:
        """Returns the time of some work, in seconds of one core."""
        return (
            self.call * calls
            + self.request * requests
            + self.table * tables
            + self.part * parts_of(tables, rows)
            + self.row * rows
            + self.byte * size
        )


def parts_of(tables: float, rows: float) -> float:
    """Returns how many parts of tables have rows of some requests, on the mean.

    A table of a shard has 64 parts, each with a lock and an index of its own. A request
    for few rows finds each of its parts in memory far from the caches of a core.

    Args:
        tables: The tables of all requests; a table counts once per request.
        rows: The rows of all requests.
    """
    if tables <= 0:
        return 0.0
    untouched = (1.0 - 1.0 / SUB_SHARDS) ** (rows / tables)
    return tables * SUB_SHARDS * (1.0 - untouched)


@dataclasses.dataclass(frozen=True)
class CallCosts:
    """What a kind of call, a lookup or an update, takes.

    Attributes:
        caller: The client's thread that makes the call.
        io: The client's thread that writes requests and reads replies.
        shard: The shard's thread of the client's connection.
        worker: The embedding worker's thread of the client's connection, besides what
            the worker needs as a client of the shards.
        overlap: The part of the client's work on the larger one of a request and its
            reply that goes on beside the shard's work on that.
        spread: Quantiles of how long a call takes, over the median: at equal distances,
            except for the first and the last, which are within the range of calls.
        slow_part: The part of the variance that lasts: a machine is slow for a while.
        slow_seconds: For how long: after so many seconds, the correlation of that part
            has fallen to 1 / e.
    """

    caller: Work
    io: Work
    shard: Work
    worker: Work
    overlap: float
    spread: tuple[float, ...]
    slow_part: float = 0.0
    slow_seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Costs:
    """All measured constants.

    Attributes:
        lookup: What lookups take.
        update: What updates take.
        trainer: What a step of a training program takes besides its dense part and
            what it takes as a client, on all of its threads. Its `table` is per layer,
            and its `row` and `byte` count all ids, duplicates too.
        wake_seconds: How long a sleeping thread takes to run once it is needed.
        cold_seconds: How much longer a thread of a server needs at most after another
            one ran on its core: its data are not in caches any more.
        crowded_speed: The speed of a core of the measured machine while all of its
            cores are busy, over its speed while the others are idle.
        balance: In which part of the time a core that becomes idle takes a thread that
            waits for another core.
        proxy_request: Seconds per message of the proxy that delays traffic.
        proxy_byte: Seconds per byte of that proxy.
        row_index_bytes: Bytes of memory per row beside its weights and state.
        checkpoint_bytes_per_second: At which rate a shard writes a checkpoint.
        restore_bytes_per_second: At which rate a shard reads one.
        read_seconds: How long the disk takes to read a block, if asked for one.
        reads_per_second: How many blocks the disk reads per second at most.
        measured: The machine, the command and the time of the measurement.
    """

    lookup: CallCosts
    update: CallCosts
    trainer: Work
    wake_seconds: float
    cold_seconds: float
    crowded_speed: float
    balance: float
    proxy_request: float
    proxy_byte: float
    row_index_bytes: float
    checkpoint_bytes_per_second: float
    restore_bytes_per_second: float
    read_seconds: float
    reads_per_second: float
    measured: Mapping[str, Any]

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Costs:
        """Returns the costs that `to_dict` has returned."""
        plain = dict(given)
        for name in ("lookup", "update"):
            plain[name] = _call_costs(plain[name])
        plain["trainer"] = Work(**plain["trainer"])
        return cls(**plain)

    def to_dict(self) -> dict[str, Any]:
        """Returns the costs as a dict of what JSON has."""
        return dataclasses.asdict(self)


def measured_costs(path: Path = MEASURED) -> Costs:
    """Returns the costs that `benchmarks/cost_bench.py` has measured.

    Args:
        path: The file that it has written. Defaults to the one of this package.
    """
    return Costs.from_dict(json.loads(path.read_text(encoding="utf-8")))


def _call_costs(given: Mapping[str, Any]) -> CallCosts:
    works = {name: Work(**given[name]) for name in ("caller", "io", "shard", "worker")}
    return CallCosts(**{**given, **works, "spread": tuple(given["spread"])})
