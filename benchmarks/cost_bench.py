"""Measures every constant of the simulator, `persia_tf/simulation`.

    python benchmarks/cost_bench.py --output persia_tf/simulation/constants.json
    python benchmarks/cost_bench.py --quick

What a lookup or an update takes is the processor time of each thread that takes part,
by calls of several numbers of rows, tables and shards, of which one is made at a time.
Rates, and times that more than one shard needs, are never fitted: simulate_check.py
compares those with what is measured. In detail:

    calls           processor time of the threads of the caller, of its I/O and of the
                    shards, per call, request, table, row and byte (least squares)
    wake_seconds    what is left of the time of a very small call, by thread that wakes
    overlap         how far reading a reply overlaps with writing it: so that the
                    simulated median of calls to one shard is the measured one
    spread          quantiles of the time of a call to one shard, over the median
    crowded_speed   the processor time of shards by that fit, over what it is while
                    several of them are busy at the same time
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
import dataclasses
import datetime
import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cost_calls
import cost_storage
import cost_training
import native_programs
from cost_calls import Measured, Point
from cost_fits import fit, worst_error
from shard_processes import running_proxy_processes, running_shards, running_worker

from persia_tf.simulation.costs import CallCosts, Costs, Work
from persia_tf.simulation.messages import LOOKUP, UPDATE, sizes_of
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import simulate_calls
from persia_tf.simulation.speed import MEASURED_KEY, speed_seconds

KINDS = (LOOKUP, UPDATE)
# The calls of which the simulator's p50 and p99 must be the measured ones.
BASE = Point(shards=1, tables=26, dim=16, batch=4096)
SMALL = dataclasses.replace(BASE, batch=8)
_SMALL_MANY = dataclasses.replace(SMALL, shards=3)
_POINTS = (
    *(BASE, dataclasses.replace(BASE, batch=512), SMALL),
    *(dataclasses.replace(BASE, tables=1), dataclasses.replace(SMALL, tables=1)),
    dataclasses.replace(BASE, dim=64),
    *(dataclasses.replace(BASE, shards=3), _SMALL_MANY),
)
# A call wakes the thread that calls, the shard's, and the client's I/O thread twice.
_WAKES = 4
_BISECTIONS = 12
_LARGE_WEIGHT = 5.0
# Of the base, the 99th percentile is needed, which few calls do not tell.
_BASE_TIMES = 3

Found = dict[Point, dict[str, Measured]]


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    costs, errors = measure(arguments)
    setup = {
        "load_average_before": round(load, 2),
        "worst_error_of_fits": errors,
        # How fast this machine is, so that plans can be made on another one.
        MEASURED_KEY: speed_seconds(),
        **native_programs.machine(),
    }
    measured = {
        "command": "python benchmarks/cost_bench.py",
        "day": datetime.date.today().isoformat(),
        **setup,
    }
    costs = dataclasses.replace(costs, measured=measured)
    if arguments.output:
        text = json.dumps(_rounded(costs.to_dict()), indent=1)
        arguments.output.write_text(f"{text}\n", encoding="utf-8")
    figures = costs.to_dict()
    del figures["measured"]
    print(json.dumps({"benchmark": "cost_bench", "figures": figures, "setup": setup}))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--rounds", type=int, default=5, help="of each measurement (%(default)s)")
    add("--seconds", type=float, default=1.0, help="of each round (%(default)s)")
    add("--calls", type=Path, help="a file that keeps what calls took, for a rerun")
    add("--output", type=Path, help="the file to write the constants to")
    arguments = parser.parse_args()
    arguments.most_rows = 1 << 62
    if arguments.quick:
        arguments.rounds, arguments.seconds = 1, 0.2
        arguments.most_rows = 2000
    return arguments


def measure(arguments: argparse.Namespace) -> tuple[Costs, dict[str, float]]:
    """Returns all constants, and the largest error of each fit."""
    found = _calls(arguments)
    errors: dict[str, float] = {}
    kinds = {kind: _call_costs(kind, found, errors) for kind in KINDS}
    proxy = _proxy(arguments)
    costs = Costs(
        lookup=kinds[LOOKUP],
        update=kinds[UPDATE],
        trainer=Work(),
        wake_seconds=statistics.mean(_wake(found[SMALL][kind]) for kind in KINDS),
        crowded_speed=_crowded_speed(found, kinds),
        proxy_request=proxy["message"],
        proxy_byte=proxy["byte"],
        measured={},
        **cost_storage.measure(arguments.quick),
    )
    costs = _with_overlap(costs, found[BASE])
    costs = _with_workers(costs, arguments)
    trainer = cost_training.trainer_work(costs, arguments.quick)
    return dataclasses.replace(costs, trainer=trainer), errors


def _calls(arguments: argparse.Namespace) -> Found:
    """Returns what calls of each size took; measures those that no file has."""
    path = arguments.calls
    found: Found = {}
    if path is not None and path.exists():
        for point, kinds in json.loads(path.read_text(encoding="utf-8")):
            measured = {kind: Measured(**each) for kind, each in kinds.items()}
            found[Point(**point)] = measured
    _measure_calls(arguments, found)
    if path is not None:
        kept = [
            (dataclasses.asdict(p), {k: dataclasses.asdict(v) for k, v in e.items()})
            for p, e in found.items()
        ]
        path.write_text(json.dumps(kept), encoding="utf-8")
    return {point: found[point] for point in _POINTS}


def _measure_calls(arguments: argparse.Namespace, found: Found) -> None:
    """Adds what calls of each size take that is not found yet."""
    missing = [point for point in _POINTS if point not in found]
    for shards, tables, dim in dict.fromkeys(
        (p.shards, p.tables, p.dim) for p in missing
    ):
        with running_shards(shards) as servers:
            addresses = [server.address for server in servers]
            for point in missing:
                if (point.shards, point.tables, point.dim) != (shards, tables, dim):
                    continue
                with cost_calls.running_caller(
                    point, addresses, servers, arguments.most_rows
                ) as caller:
                    times = _BASE_TIMES if point == BASE else 1
                    found[point] = _rounds(caller, arguments, times)
            _log(f"measured calls of {shards} shards, {tables} tables, {dim} weights")


def _rounds(
    caller: cost_calls.Caller, arguments: argparse.Namespace, times: int = 1
) -> dict[str, Measured]:
    """Measures both kinds of calls in turn, `times` as often as usual."""
    rounds: dict[str, list[Measured]] = {kind: [] for kind in KINDS}
    for _ in range(times * arguments.rounds):
        for kind in KINDS:
            rounds[kind].append(caller.measure(kind, arguments.seconds))
    return {kind: cost_calls.joined(each) for kind, each in rounds.items()}


def _crowded_speed(found: Found, kinds: dict[str, CallCosts]) -> float:
    """Returns the speed of cores that are all busy.

    Calls of several shards keep all cores busy, and take more processor time of the
    shards than the same work takes of one.
    """
    ratios = []
    for point in found:
        if point.shards == 1 or point.batch != BASE.batch:
            continue
        for kind, costs in kinds.items():
            measured = found[point][kind]
            alone = costs.shard.seconds(*_terms(point, measured.rows).values())
            ratios.append(alone / sum(measured.servers))
    return min(statistics.mean(ratios), 1.0)


def _call_costs(kind: str, found: Found, errors: dict[str, float]) -> CallCosts:
    # Large calls of several shards keep all cores busy, which is another constant.
    alone = {p: e[kind] for p, e in found.items() if p.shards == 1 or p == _SMALL_MANY}
    terms = [_terms(point, each.rows) for point, each in alone.items()]
    measured = list(alone.values())
    # Large calls take most of the time of any cluster, so they are fitted best.
    weights = [_LARGE_WEIGHT if p.batch == BASE.batch else 1.0 for p in alone]
    works = {}
    for thread, seconds in (
        ("caller", [each.caller for each in measured]),
        ("io", [each.io for each in measured]),
        ("shard", [sum(each.servers) for each in measured]),
    ):
        own = [dict(each) for each in terms]
        if thread != "caller":  # The others handle each request on its own.
            for each in own:
                del each["call"]
        takes = fit(own, seconds, weights)
        errors[f"{kind} {thread}"] = worst_error(own, seconds, takes)
        works[thread] = Work(**takes)
    base = found[BASE][kind]
    spread = tuple(round(each / base.p50, 4) for each in base.quantiles)
    return CallCosts(**works, worker=Work(), overlap=0.0, spread=spread)


def _terms(point: Point, rows: float) -> dict[str, float]:
    return {
        "call": 1,
        "request": point.shards,
        "table": point.shards * point.tables,
        "row": rows,
        "byte": rows * 4 * point.dim,
    }


def _wake(small: Measured) -> float:
    return max(small.p50 - small.total, 0.0) / _WAKES


def _with_overlap(costs: Costs, base: dict[str, Measured]) -> Costs:
    """Returns costs with which the median of calls to one shard is as measured."""
    for kind in KINDS:
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            overlap = (low + high) / 2
            own = dataclasses.replace(getattr(costs, kind), overlap=overlap)
            costs = dataclasses.replace(costs, **{kind: own})
            setup = setup_of(BASE, base[kind].rows)
            simulated = simulate_calls(kind, setup, costs=costs, calls=200)
            if simulated.p50 > base[kind].p50:
                low = overlap
            else:
                high = overlap
    return costs


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


def _proxy(arguments: argparse.Namespace) -> dict[str, float]:
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
        work = Work(**fit(terms[kind], seconds[kind]))
        own = dataclasses.replace(getattr(costs, kind), worker=work)
        costs = dataclasses.replace(costs, **{kind: own})
    return costs


def _client_seconds(costs: CallCosts, point: Point, rows: float) -> float:
    terms: Sequence[float] = tuple(_terms(point, rows).values())
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
