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
    crowded_speed   the processor time of a call made alone, over that of a call while
                    several are made and all cores are busy
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
from cost_calls import LOOKUP, UPDATE, Measured, Point
from cost_fits import fit, worst_error
from shard_processes import running_proxy_processes, running_shards, running_worker

from persia_tf.simulation.costs import CallCosts, Costs, Work
from persia_tf.simulation.messages import sizes_of
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import simulate_calls

KINDS = (LOOKUP, UPDATE)
# The calls of which the simulator's p50 and p99 must be the measured ones.
BASE = Point(shards=1, tables=26, dim=16, batch=4096)
SMALL = dataclasses.replace(BASE, batch=8)
_POINTS = (
    *(BASE, dataclasses.replace(BASE, batch=512), SMALL),
    *(dataclasses.replace(BASE, tables=1), dataclasses.replace(SMALL, tables=1)),
    dataclasses.replace(BASE, dim=64),
    *(dataclasses.replace(BASE, shards=3), dataclasses.replace(SMALL, shards=3)),
)
# A call wakes the thread that calls, the shard's, and the client's I/O thread twice.
_WAKES = 4
_BISECTIONS = 12

Found = dict[Point, dict[str, Measured]]


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    costs, errors = measure(arguments)
    setup = {
        "load_average_before": round(load, 2),
        "worst_error_of_fits": errors,
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
    add("--output", type=Path, help="the file to write the constants to")
    arguments = parser.parse_args()
    arguments.most_rows = 1 << 62
    if arguments.quick:
        arguments.rounds, arguments.seconds = 1, 0.2
        arguments.most_rows = 2000
    return arguments


def measure(arguments: argparse.Namespace) -> tuple[Costs, dict[str, float]]:
    """Returns all constants, and the largest error of each fit."""
    found, crowded = _measure_calls(arguments)
    errors: dict[str, float] = {}
    kinds = {kind: _call_costs(kind, found, errors) for kind in KINDS}
    proxy = _proxy(arguments)
    costs = Costs(
        lookup=kinds[LOOKUP],
        update=kinds[UPDATE],
        trainer=Work(),
        wake_seconds=statistics.mean(_wake(found[SMALL][kind]) for kind in KINDS),
        crowded_speed=crowded,
        proxy_request=proxy["message"],
        proxy_byte=proxy["byte"],
        measured={},
        **cost_storage.measure(arguments.quick),
    )
    costs = _with_overlap(costs, found[BASE])
    costs = _with_workers(costs, arguments)
    trainer = cost_training.trainer_work(costs, arguments.quick)
    return dataclasses.replace(costs, trainer=trainer), errors


def _measure_calls(arguments: argparse.Namespace) -> tuple[Found, float]:
    """Returns what calls of each size took, and the speed of crowded cores."""
    found: Found = {}
    crowded = 1.0
    for shards, tables, dim in dict.fromkeys((p.shards, p.tables, p.dim) for p in _POINTS):
        with running_shards(shards) as servers:
            addresses = [server.address for server in servers]
            for point in _POINTS:
                if (point.shards, point.tables, point.dim) != (shards, tables, dim):
                    continue
                with cost_calls.running_caller(
                    point, addresses, servers, arguments.most_rows
                ) as caller:
                    found[point] = _rounds(caller, arguments)
                    if point == BASE:
                        crowded = _crowded(caller, found[BASE], arguments)
            _log(f"measured calls of {shards} shards, {tables} tables, {dim} weights")
    return found, crowded


def _rounds(
    caller: cost_calls.Caller, arguments: argparse.Namespace, **options: int
) -> dict[str, Measured]:
    """Measures both kinds of calls in turn."""
    rounds: dict[str, list[Measured]] = {kind: [] for kind in KINDS}
    for _ in range(arguments.rounds):
        for kind in KINDS:
            rounds[kind].append(caller.measure(kind, arguments.seconds, **options))
    return {kind: cost_calls.joined(each) for kind, each in rounds.items()}


def _crowded(
    caller: cost_calls.Caller,
    alone: dict[str, Measured],
    arguments: argparse.Namespace,
) -> float:
    many = _rounds(caller, arguments, threads=2, in_flight=4)
    ratios = [alone[kind].total / many[kind].total for kind in KINDS]
    return min(statistics.mean(ratios), 1.0)


def _call_costs(kind: str, found: Found, errors: dict[str, float]) -> CallCosts:
    terms = [_terms(point, each[kind].rows) for point, each in found.items()]
    measured = [each[kind] for each in found.values()]
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
        takes = fit(own, seconds)
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
