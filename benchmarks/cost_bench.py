"""Measures every constant of the simulator, `persia_tf/simulation`.

    python benchmarks/cost_bench.py --output persia_tf/simulation/constants.json
    python benchmarks/cost_bench.py --quick

What a lookup or an update takes is the processor time of each thread that takes part,
by calls of several numbers of rows, tables and shards, of which one is made at a time.
All sizes take short turns, so that a slow minute affects all of them. Rates are
fitted of one, three and six shards; simulate_check.py compares those of other numbers
with what is measured. In detail:

    calls           processor time of the threads of the caller, of its I/O and of the
                    shards, per call, request, table, part of a table, row and byte
                    (least squares)
    wake_seconds    what is left of the time of a very small call, by thread that wakes
    overlap         how far reading a reply, or writing a request, overlaps with the
                    work of a shard: so that the simulated rate of calls to one shard is
                    the measured one
    spread          quantiles of the time of a call to one shard, over the median
    slow_seconds    how long slow times last, and slow_part, which part of the variance
                    is of such times: by correlations of a call and later ones
    cold_seconds    the processor time of shards, over that with four calls in flight
    crowded_speed   with which that fit is best, since large calls of several shards
                    keep all cores busy
    balance         in which part of the time an idle core takes a thread that waits for
                    another one: so that simulated rates of calls to three and to six
                    shards are the measured ones
    worker          the processor time of `persia worker` less that of its calls
    proxy           the processor time of a proxy that delays messages
    trainer         the processor time of a training program, less that of its dense
                    part and of its calls, for two sizes of batches and two models
    disk            reads of 4 KiB past the page cache, one at a time and many
    checkpoint      bytes per second of a save, and of starting with its rows

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import json
import math
import os
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import cost_calls
import cost_storage
import cost_training
import native_programs
import numpy as np
from cost_calls import MOST_ROWS, Caller, Measured, Point
from cost_fits import Fit, fit
from cost_training import Trained, Training, TrainingRounds
from shard_processes import running_proxy_processes, running_shards, running_worker

from persia_tf.simulation.bisection import bisected
from persia_tf.simulation.costs import CallCosts, Costs, Work, parts_of
from persia_tf.simulation.messages import LOOKUP, UPDATE, sizes_of
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import simulate_calls
from persia_tf.simulation.speed import MEASURED_KEY, speed_seconds

KINDS = (LOOKUP, UPDATE)
# The calls of which the simulator's p50 and p99 must be the measured ones.
BASE = Point(shards=1, tables=26, dim=16, batch=4096)
SMALL = dataclasses.replace(BASE, batch=8)
_BASE_MANY = (
    dataclasses.replace(BASE, shards=3),
    dataclasses.replace(BASE, shards=6),
)
_BASE_MORE = tuple(dataclasses.replace(p, in_flight=4) for p in _BASE_MANY)
_SMALL_MANY = dataclasses.replace(SMALL, shards=3)
_POINTS = (
    *(BASE, dataclasses.replace(BASE, batch=512), dataclasses.replace(BASE, batch=64)),
    SMALL,
    *(dataclasses.replace(BASE, tables=1), dataclasses.replace(SMALL, tables=1)),
    dataclasses.replace(BASE, dim=64),
    *(*_BASE_MANY, *_BASE_MORE, _SMALL_MANY),
)
# A call wakes the thread that calls, the shard's, and the client's I/O thread twice.
_WAKES = 4
# The speeds of crowded cores that are tried.
_SPEEDS = tuple(np.arange(0.5, 1.005, 0.02).tolist())
_LARGE_WEIGHT, _BASE_WEIGHT = 3.0, 10.0
_QUANTILES = 101
# Calls whose times are compared, by how many calls the second is later.
_DISTANCES = (1, 8)
# How far their correlations are trusted: the far one, and the far over the near one.
_LEAST_ALIKE, _MOST_ALIKE = 0.01, 0.99
# Of the base, the 99th percentile is needed, which few calls do not tell.
_BASE_TIMES = 2
_TRAINING_ROUNDS = 3
_LEAST_BALANCE = 0.1
_FITTED_CALLS = 4000

Found = dict[Point, dict[str, Measured]]


def main() -> None:
    costs = measure(parse_arguments())
    figures = costs.to_dict()
    setup = figures.pop("measured")
    print(json.dumps({"benchmark": "cost_bench", "figures": figures, "setup": setup}))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--rounds", type=int, default=40, help="of each measurement (%(default)s)")
    add("--seconds", type=float, default=0.15, help="of each round (%(default)s)")
    add("--most-rows", type=int, default=MOST_ROWS, help="of a feature (%(default)s)")
    add("--calls", type=Path, help="a file that keeps what calls took, for a rerun")
    add("--output", type=Path, help="the file to write the constants to")
    arguments = parser.parse_args()
    arguments.load = os.getloadavg()[0]
    if arguments.quick:
        arguments.rounds, arguments.most_rows = 1, 2000
    return arguments


class CallRounds:
    """Measures calls of each size in rounds, in which they take turns.

    Args:
        callers: A caller for each size.
    """

    def __init__(self, callers: Mapping[Point, Caller]) -> None:
        self._callers = callers
        self._rounds: dict[Point, dict[str, list[Measured]]] = {
            point: {kind: [] for kind in KINDS} for point in callers
        }

    def measure(self, seconds: float) -> None:
        """Measures a round: each kind of call of each size for some seconds."""
        for point, caller in self._callers.items():
            for _ in range(_BASE_TIMES if point == BASE else 1):
                for kind, rounds in self._rounds[point].items():
                    rounds.append(caller.measure(kind, seconds, point.in_flight))

    @property
    def found(self) -> Found:
        """What all rounds have measured."""
        return {
            point: {kind: cost_calls.joined(rounds) for kind, rounds in kinds.items()}
            for point, kinds in self._rounds.items()
        }


@contextlib.contextmanager
def running_call_rounds(most_rows: int) -> Iterator[CallRounds]:
    """Runs shards and callers for all sizes until the block ends.

    Args:
        most_rows: The most rows per feature.
    """
    callers: dict[Point, Caller] = {}
    with contextlib.ExitStack() as stack:
        for shards, tables, dim in dict.fromkeys(
            (p.shards, p.tables, p.dim) for p in _POINTS
        ):
            servers = stack.enter_context(running_shards(shards))
            for point in _POINTS:
                if (point.shards, point.tables, point.dim) == (shards, tables, dim):
                    addresses = [server.address for server in servers]
                    callers[point] = stack.enter_context(
                        cost_calls.running_caller(point, addresses, servers, most_rows)
                    )
        _log("shards are filled")
        yield CallRounds(callers)


def measure(
    arguments: argparse.Namespace,
    found: Found | None = None,
    trainings: Mapping[Training, Trained] | None = None,
) -> Costs:
    """Measures all constants, and writes them to a file, if there is one.

    Args:
        arguments: Those of this program.
        found: What calls take. Defaults to None: they are measured first.
        trainings: What trainings took. Defaults to None: they are measured last.
    """
    found = found or _calls(arguments)
    if arguments.calls is not None:
        _keep(found, arguments.calls)
    crowded_speed = _crowded_speed(found)
    works = {kind: _works(kind, found, crowded_speed) for kind in KINDS}
    errors = {
        f"{kind} {thread}": fitted.worst_error
        for kind, threads in works.items()
        for thread, fitted in threads.items()
    }
    kinds = {kind: _call_costs(found[BASE][kind], works[kind]) for kind in KINDS}
    proxy = _proxy(arguments)
    costs = Costs(
        lookup=kinds[LOOKUP],
        update=kinds[UPDATE],
        trainer=Work(),
        wake_seconds=statistics.mean(_wake(found[SMALL][kind]) for kind in KINDS),
        # How much longer a shard's thread needs that has slept.
        cold_seconds=statistics.mean(
            works[kind]["shard"].takes["cold"] for kind in KINDS
        ),
        crowded_speed=crowded_speed,
        balance=1.0,
        proxy_request=proxy.takes["message"],
        proxy_byte=proxy.takes["byte"],
        measured=_facts(arguments.load, errors),
        **cost_storage.measure(arguments.quick),
    )
    costs = _with_balance(_with_overlap(costs, found[BASE]), found)
    costs = _with_workers(costs, arguments)
    trainer = cost_training.trainer_work(costs, trainings or _trainings(arguments))
    costs = dataclasses.replace(costs, trainer=trainer)
    if arguments.output:
        text = json.dumps(_rounded(costs.to_dict()), indent=1)
        arguments.output.write_text(f"{text}\n", encoding="utf-8")
    return costs


def _facts(load: float, errors: dict[str, float]) -> dict[str, Any]:
    """Returns what is stored beside the constants."""
    return {
        "command": "python benchmarks/cost_bench.py",
        "day": datetime.date.today().isoformat(),
        "load_average_before": round(load, 2),
        "worst_error_of_fits": errors,
        # How fast this machine is, so that plans can be made on another one.
        MEASURED_KEY: speed_seconds(),
        **native_programs.machine(),
    }


def _calls(arguments: argparse.Namespace) -> Found:
    """Returns what calls of each size take: as a file says, or as they are measured."""
    path = arguments.calls
    if path is not None and path.exists():
        return {
            Point(**point): {kind: Measured(**each) for kind, each in kinds.items()}
            for point, kinds in json.loads(path.read_text(encoding="utf-8"))
        }
    with running_call_rounds(arguments.most_rows) as rounds:
        for number in range(arguments.rounds):
            rounds.measure(arguments.seconds)
            _log(f"measured round {number + 1} of {arguments.rounds}")
    return rounds.found


def _keep(found: Found, path: Path) -> None:
    kept = [
        (dataclasses.asdict(p), {k: dataclasses.asdict(v) for k, v in e.items()})
        for p, e in found.items()
    ]
    path.write_text(json.dumps(kept), encoding="utf-8")


def _trainings(arguments: argparse.Namespace) -> Mapping[Training, Trained]:
    rounds = TrainingRounds(arguments.quick)
    for _ in range(1 if arguments.quick else _TRAINING_ROUNDS):
        rounds.measure()
    return rounds.found


def _rounds(caller: Caller, arguments: argparse.Namespace) -> dict[str, Measured]:
    """Measures both kinds of calls in turn."""
    rounds: dict[str, list[Measured]] = {kind: [] for kind in KINDS}
    for _ in range(arguments.rounds):
        for kind in KINDS:
            rounds[kind].append(caller.measure(kind, arguments.seconds))
    return {kind: cost_calls.joined(each) for kind, each in rounds.items()}


def _crowded_speed(found: Found) -> float:
    """Returns the speed of cores that are all busy.

    Large calls of several shards keep all cores busy, and take more processor time than
    one work of any constants would explain: as much as this speed says.
    """
    return min(_SPEEDS, key=lambda speed: _misfit(found, speed))


def _misfit(found: Found, crowded_speed: float) -> float:
    works = [_works(kind, found, crowded_speed) for kind in KINDS]
    return sum(each["shard"].sum_of_squares for each in works)


def _works(kind: str, found: Found, crowded_speed: float) -> dict[str, Fit]:
    """Fits what calls take of each thread, while it has a core for itself."""
    terms = [_terms(point, each[kind].rows) for point, each in found.items()]
    measured = [each[kind] for each in found.values()]
    weights = [_weight(point) for point in found]
    crowded = {*_BASE_MANY, *_BASE_MORE}
    speeds = [crowded_speed if point in crowded else 1.0 for point in found]
    works = {}
    for thread, used in (
        ("caller", [each.caller for each in measured]),
        ("io", [each.io for each in measured]),
        ("shard", [sum(each.servers) for each in measured]),
    ):
        # The others handle each request on its own, and only shards have tables.
        without = {
            "caller": ("part", "cold"),
            "io": ("call", "part", "cold"),
            "shard": ("call",),
        }
        own = [
            {name: each[name] for name in each if name not in without[thread]}
            for each in terms
        ]
        seconds = [each * speed for each, speed in zip(used, speeds)]
        works[thread] = fit(own, seconds, weights)
    return works


def _call_costs(base: Measured, fits: Mapping[str, Fit]) -> CallCosts:
    """Returns what a kind of call takes, by the fit of each thread."""
    works = {}
    for thread, fitted in fits.items():
        takes = {name: fitted.takes[name] for name in fitted.takes if name != "cold"}
        works[thread] = Work(**takes)
    # The slowest call of all is not what one call of a hundred takes.
    edge = 0.5 / _QUANTILES
    places = np.linspace(0, 1, _QUANTILES).clip(edge, 1 - edge)
    quantiles = base.quantile(places) / base.quantile(0.5)
    return CallCosts(
        **works,
        worker=Work(),
        overlap=0.0,
        spread=tuple(round(each, 4) for each in quantiles.tolist()),
        **_slow_times(base),
    )


def _weight(point: Point) -> float:
    if point == BASE:
        return _BASE_WEIGHT
    return _LARGE_WEIGHT if point.batch == BASE.batch else 1.0


def _slow_times(base: Measured) -> dict[str, float]:
    """Returns which part of the variance lasts, and for how many seconds.

    That part falls exponentially with time, so that two distances tell both numbers.
    Ranks of normally distributed variables have a correlation of 6 / pi asin(r / 2), if
    r is that of the variables.
    """
    near, far = (
        2.0 * math.sin(math.pi / 6.0 * base.alike(distance)) for distance in _DISTANCES
    )
    if near <= 0.0:
        return {"slow_part": 0.0, "slow_seconds": 0.0}
    falls = math.log(near / min(max(far, _LEAST_ALIKE), near * _MOST_ALIKE))
    seconds_per_call = 1.0 / base.per_second
    slow_seconds = seconds_per_call * (_DISTANCES[1] - _DISTANCES[0]) / falls
    now = near * math.exp(_DISTANCES[0] * seconds_per_call / slow_seconds)
    return {"slow_part": min(now, 1.0), "slow_seconds": slow_seconds}


def _work_terms(point: Point, rows: float) -> tuple[float, ...]:
    """Returns the arguments of `Work.seconds` for a call."""
    tables = point.shards * point.tables
    return 1, point.shards, tables, rows, rows * 4 * point.dim


def _terms(point: Point, rows: float) -> dict[str, float]:
    calls, requests, tables, rows, size = _work_terms(point, rows)
    return {
        "call": calls,
        "request": requests,
        "table": tables,
        "part": parts_of(tables, rows),
        "row": rows,
        "byte": size,
        # With several calls in flight, shards seldom sleep.
        "cold": point.shards if point in _BASE_MANY else 0,
    }


def _wake(small: Measured) -> float:
    return max(1.0 / small.per_second - small.total, 0.0) / _WAKES


def _with_overlap(costs: Costs, base: dict[str, Measured]) -> Costs:
    """Returns costs with which the rate of calls to one shard is as measured."""

    def overlapping(kind: str, overlap: float) -> Costs:
        own = dataclasses.replace(getattr(costs, kind), overlap=overlap)
        return dataclasses.replace(costs, **{kind: own})

    for kind in KINDS:
        measured = {kind: base[kind]}
        overlap = bisected(
            *(0.0, 1.0),
            lambda o, k=kind, m=measured: _faster(BASE, m, overlapping(k, o)) < 1.0,
        )
        costs = overlapping(kind, overlap)
    return costs


def _with_balance(costs: Costs, found: Found) -> Costs:
    """Returns costs with which rates of calls to several shards are as measured.

    With less balance than the least that is tried, threads stay where they began, which
    happens to be good places.
    """

    def is_too_slow(balance: float) -> bool:
        tried = dataclasses.replace(costs, balance=balance)
        faster = [_faster(point, found[point], tried) for point in _BASE_MANY]
        return statistics.geometric_mean(faster) < 1.0

    return dataclasses.replace(
        costs, balance=bisected(_LEAST_BALANCE, 1.0, is_too_slow)
    )


def _faster(point: Point, measured: dict[str, Measured], costs: Costs) -> float:
    """Returns the simulated rate of calls over the measured one, on the mean."""
    return statistics.geometric_mean(
        simulate_calls(
            kind, setup_of(point, each.rows), costs=costs, calls=_FITTED_CALLS
        ).per_second
        / each.per_second
        for kind, each in measured.items()
    )


def setup_of(point: Point, rows: float, **others: Any) -> Setup:
    """Returns the set-up of a client on this machine that makes calls of some size."""
    return Setup(
        shards=point.shards,
        tables=point.tables,
        dim=point.dim,
        rows=rows,
        ids=max(26 * point.batch, rows),
        cores=os.cpu_count() or 1,
        **others,
    )


def _proxy(arguments: argparse.Namespace) -> Fit:
    """Returns what a message, and a byte, take of a proxy."""
    terms, seconds = [], []
    with running_shards(1) as shards, running_proxy_processes(shards, 0.0) as proxies:
        addresses = [proxy.address for proxy in proxies]
        for point in (BASE, SMALL):
            with cost_calls.running_caller(
                point, addresses, proxies, arguments.most_rows
            ) as caller:
                for kind, found in _rounds(caller, arguments).items():
                    sizes = sizes_of(kind, setup_of(point, found.rows), found.rows)
                    terms.append({"message": 2, "byte": sizes.request + sizes.reply})
                    seconds.append(found.servers[0])
    _log("measured proxies")
    return fit(terms, seconds)


def _with_workers(costs: Costs, arguments: argparse.Namespace) -> Costs:
    """Returns costs with what an embedding worker takes beside its own calls."""
    terms: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with running_shards(1) as shards, running_worker(shards) as worker:
        for point in (BASE, SMALL):
            with cost_calls.running_caller(
                point, [worker.address], [worker], arguments.most_rows
            ) as caller:
                for kind, found in _rounds(caller, arguments).items():
                    called = _client_seconds(getattr(costs, kind), point, found.rows)
                    terms[kind].append({"request": 1, "row": found.rows})
                    seconds[kind].append(max(found.servers[0] - called, 1e-9))
    _log("measured an embedding worker")
    for kind in KINDS:
        work = Work(**fit(terms[kind], seconds[kind]).takes)
        own = dataclasses.replace(getattr(costs, kind), worker=work)
        costs = dataclasses.replace(costs, **{kind: own})
    return costs


def _client_seconds(costs: CallCosts, point: Point, rows: float) -> float:
    terms = _work_terms(point, rows)
    return costs.caller.seconds(*terms) + costs.io.seconds(*terms)


def _rounded(value: Any) -> Any:
    """Returns JSON with no more digits of its numbers than can be measured."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
