"""Measures the processor time that lookups and updates take of each thread."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import native_programs
import numpy as np
import workload_w1
from processes import exact_cpu_seconds, thread_cpu_seconds, wait_until_idle
from rows_over_redis import RoundsProgram, running_program, write_workload
from shard_processes import ShardProcess

from persia_tf.simulation.messages import LOOKUP, UPDATE

# The kinds of rounds of lookup_bench.
_ROUNDS = {LOOKUP: "remote", UPDATE: "remote_update"}
_WARM_UP_SECONDS = 0.05
# Of a feature, which are 1.3 million of all features: shards for all sizes of calls are
# in memory at the same time.
MOST_ROWS = 200_000
# Of the click model's data. Small calls look up the same rows as large ones, which do
# not stay in caches, in more calls.
_DIFFERENT_BATCHES = 50


@dataclasses.dataclass(frozen=True)
class Point:
    """The sizes of the calls of a measurement.

    Attributes:
        shards: The shards that each call asks.
        tables: The tables of a call: 1, or one for each feature.
        dim: Weights per row.
        batch: Examples per call.
        in_flight: Calls at the same time.
    """

    shards: int
    tables: int
    dim: int
    batch: int
    in_flight: int = 1


@dataclasses.dataclass(frozen=True)
class Measured:
    """What calls of one kind take.

    Attributes:
        rows: The rows of a call, on the mean.
        in_flight: How many calls there are at each moment.
        windows: The seconds of each call, in order, for each time of measurement.
        caller: Processor seconds per call of the threads that call.
        io: Processor seconds per call of the client's I/O threads.
        servers: Processor seconds per call of each server that is watched.
    """

    rows: float
    in_flight: int
    windows: tuple[tuple[float, ...], ...]
    caller: float
    io: float
    servers: tuple[float, ...]

    @property
    def calls(self) -> int:
        """The number of calls."""
        return sum(map(len, self.windows))

    @property
    def per_second(self) -> float:
        """Calls per second, by Little's law."""
        return self.in_flight / float(np.mean(np.concatenate(self.windows)))

    @property
    def total(self) -> float:
        """Processor seconds per call of all threads that are watched."""
        return self.caller + self.io + sum(self.servers)

    def quantile(self, share: float | np.ndarray) -> Any:
        """Returns quantiles of the seconds of a call; 0.5 is the median."""
        return np.quantile(np.concatenate(self.windows), share)

    def alike(self, distance: int) -> float:
        """Returns the rank correlation of calls and the ones so many calls later.

        Calls of one time of measurement only are compared, but ranks are those among
        all calls.
        """
        order = np.concatenate(self.windows).argsort().argsort()
        ranks = np.split(order, np.cumsum([len(each) for each in self.windows])[:-1])
        pairs = [(each[:-distance], each[distance:]) for each in ranks]
        first, second = (np.concatenate(each) for each in zip(*pairs))
        if len(first) < 2:
            return 0.0
        return float(np.corrcoef(first, second)[0, 1])


class Caller:
    """A program that looks rows up or updates them, and what it asks."""

    def __init__(
        self, program: RoundsProgram, rows: float, servers: Sequence[int]
    ) -> None:
        self._program = program
        self._rows = rows
        self._servers = servers

    def measure(self, kind: str, seconds: float, in_flight: int = 1) -> Measured:
        """Makes calls for a while.

        Args:
            kind: `LOOKUP` or `UPDATE`.
            seconds: For how long.
            in_flight: How many calls there are at each moment.
        """
        what = (_ROUNDS[kind], 1, in_flight)
        self._program.run(*what, _WARM_UP_SECONDS)
        before = self._used()
        found = self._program.run(*what, seconds)
        caller, io, servers = (
            np.subtract(now, then) / found["requests"]
            for now, then in zip(self._used(), before)
        )
        # The first and the last calls are beside fewer others.
        took = found["ms"]
        if len(took) > 2 * in_flight:
            took = took[in_flight:-in_flight]
        return Measured(
            rows=self._rows,
            in_flight=in_flight,
            windows=(tuple(each / 1e3 for each in took),),
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
) -> Iterator[Caller]:
    """Runs a program that calls, until the block ends, after it has filled the shards.

    Args:
        point: The sizes of calls.
        addresses: Whom it asks.
        servers: The servers whose processor time is watched.
        most_rows: The most rows per feature.
    """
    with tempfile.TemporaryDirectory() as folder:
        workload = Path(folder) / "workload"
        rows = _write(workload, point, most_rows)
        program = native_programs.build("lookup_bench")
        command = [program, workload, point.tables, ",".join(addresses), point.dim]
        with running_program(command) as running:
            pids = [server.pid for server in servers]
            wait_until_idle(pids)
            yield Caller(running, rows, pids)


def _write(workload: Path, point: Point, most_rows: int) -> float:
    """Writes the calls of a size; returns the mean number of their rows.

    The whole data, which is large, is freed when it returns.
    """
    ranks = workload_w1.load().ranks[:_DIFFERENT_BATCHES]
    if point.batch <= ranks.shape[1]:
        ranks = ranks.reshape(-1, point.batch, ranks.shape[2])
    return write_workload(workload, ranks, most_rows)


def joined(measured: Sequence[Measured]) -> Measured:
    """Returns all calls of several measurements, and what they took on the mean."""
    calls = [each.calls for each in measured]

    def mean(name: str) -> Any:
        return np.average([getattr(m, name) for m in measured], axis=0, weights=calls)

    return Measured(
        rows=measured[0].rows,
        in_flight=measured[0].in_flight,
        windows=tuple(window for each in measured for window in each.windows),
        caller=float(mean("caller")),
        io=float(mean("io")),
        servers=tuple(mean("servers").tolist()),
    )
