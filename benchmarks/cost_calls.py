"""Measures the processor time that lookups and updates take of each thread."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import native_programs
import numpy as np
import workload_w1
from processes import exact_cpu_seconds, thread_cpu_seconds, wait_until_idle
from rows_over_redis import RoundsProgram, running_program, write_workload
from shard_processes import ShardProcess

from persia_tf.simulation.messages import LOOKUP, UPDATE

# The kinds of rounds of lookup_bench.
_ROUNDS = {LOOKUP: "remote", UPDATE: "remote_update"}
_WARM_UP_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class Point:
    """The sizes of the calls of a measurement.

    Attributes:
        shards: The shards that each call asks.
        tables: The tables of a call: 1, or one for each feature.
        dim: Weights per row.
        batch: Examples per call.
    """

    shards: int
    tables: int
    dim: int
    batch: int


@dataclasses.dataclass(frozen=True)
class Measured:
    """What calls of one kind take.

    Attributes:
        calls: The number of calls.
        rows: The rows of a call, on the mean.
        per_second: Calls per second.
        quantiles: Quantiles of the seconds of a call, from the least to the greatest.
        caller: Processor seconds per call of the threads that call.
        io: Processor seconds per call of the client's I/O threads.
        servers: Processor seconds per call of each server that is watched.
    """

    calls: int
    rows: float
    per_second: float
    quantiles: tuple[float, ...]
    caller: float
    io: float
    servers: tuple[float, ...]

    @property
    def p50(self) -> float:
        """The median of the seconds of a call."""
        return float(np.median(self.quantiles))

    @property
    def p99(self) -> float:
        """The 99th percentile of the seconds of a call."""
        return float(np.percentile(self.quantiles, 99))

    @property
    def total(self) -> float:
        """Processor seconds per call of all threads that are watched."""
        return self.caller + self.io + sum(self.servers)


class Caller:
    """A program that looks rows up or updates them, and what it asks."""

    def __init__(
        self, program: RoundsProgram, rows: float, servers: Sequence[int]
    ) -> None:
        self._program = program
        self._rows = rows
        self._servers = servers

    def measure(
        self, kind: str, seconds: float, threads: int = 1, in_flight: int = 1
    ) -> Measured:
        """Makes calls for a while.

        Args:
            kind: `LOOKUP` or `UPDATE`.
            seconds: For how long.
            threads: How many threads call, each with connections of its own.
            in_flight: How many calls each has in flight.
        """
        what = (_ROUNDS[kind], threads, in_flight)
        self._program.run(*what, _WARM_UP_SECONDS)
        before = self._used()
        found = self._program.run(*what, seconds)
        caller, io, servers = (
            np.subtract(now, then) / found["requests"]
            for now, then in zip(self._used(), before)
        )
        return Measured(
            calls=int(found["requests"]),
            rows=self._rows,
            per_second=found["rows_per_second"] / self._rows,
            quantiles=tuple(each / 1e3 for each in found["quantiles_ms"]),
            caller=float(caller),
            io=float(io),
            servers=tuple(float(each) for each in servers),
        )

    def _used(self) -> tuple[float, float, list[float]]:
        pid = self._program.pid
        threads = thread_cpu_seconds(pid)
        # Threads that call end with each round; the first thread waits for them.
        io = sum(used for thread, used in threads.items() if thread != pid)
        servers = [exact_cpu_seconds(server) for server in self._servers]
        return exact_cpu_seconds(pid) - io, io, servers


@contextlib.contextmanager
def running_caller(
    point: Point,
    addresses: Sequence[str],
    servers: Sequence[ShardProcess],
    most_rows: int,
    requests: int = 50,
) -> Iterator[Caller]:
    """Runs a program that calls, until the block ends, after it has filled the shards.

    Args:
        point: The sizes of calls.
        addresses: Whom it asks.
        servers: The servers whose processor time is watched.
        most_rows: The most rows per feature.
        requests: The number of different calls, which are made in turn.
    """
    with tempfile.TemporaryDirectory() as folder:
        workload = Path(folder) / "workload"
        ranks = workload_w1.load().ranks[:requests, : point.batch]
        rows = write_workload(workload, ranks, most_rows)
        program = native_programs.build("lookup_bench")
        command = [program, workload, point.tables, ",".join(addresses), point.dim]
        with running_program(command) as running:
            pids = [server.pid for server in servers]
            wait_until_idle(pids)
            yield Caller(running, rows, pids)


def joined(measured: Sequence[Measured]) -> Measured:
    """Returns the medians of several measurements of the same calls."""

    def median(name: str) -> float:
        return float(np.median([getattr(each, name) for each in measured]))

    quantiles = np.median([each.quantiles for each in measured], axis=0)
    servers = np.median([each.servers for each in measured], axis=0)
    return Measured(
        calls=sum(each.calls for each in measured),
        rows=measured[0].rows,
        per_second=median("per_second"),
        quantiles=tuple(quantiles.tolist()),
        caller=median("caller"),
        io=median("io"),
        servers=tuple(servers.tolist()),
    )
