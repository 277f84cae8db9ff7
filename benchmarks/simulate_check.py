"""How far the simulator is off what is measured with 1, 2, 4 and 8 shards.

    python benchmarks/simulate_check.py
    python benchmarks/simulate_check.py --measure
    python benchmarks/simulate_check.py --quick
    python benchmarks/simulate_check.py --write

A client looks rows up, and updates them, in calls of 26 x 4096 ids of the click model
(W2), one or several at a time; and the click model (W1) is trained. All programs share
this machine. The shards are reached directly, or through proxies that delay messages by
10 ms each way. The set-ups take turns, so that a slow minute affects all of them.
Compared are calls per second, the 99th percentile of a call, and steps per second.

The simulator's constants come from calls that are made one at a time, and from training
with one shard (cost_bench.py). With `--measure` they are measured anew, in the same
rounds: a virtual machine may be twice as fast in one minute as in the next. The last
line is one JSON object; `--against` simulates anew what an earlier run measured.
`--write` writes the table into docs/simulation.md.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import cost_bench
import cost_calls
import cost_training
import native_programs
import numpy as np
import workload_w1
from cost_calls import MOST_ROWS, Caller, Measured
from cost_training import Trained, Training, TrainingRounds
from results_file import write_section
from shard_processes import ShardProcess, running_proxies, running_shards

from persia_tf.simulation.costs import Costs, measured_costs
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import Simulated, simulate, simulate_calls

SHARDS = (1, 2, 4, 8)
DELAYS_MS = (None, 10.0)
# All unfinished steps, with the default staleness of both sides.
IN_FLIGHT_OF_TRAINING = Setup.staleness + 1
_PAGE = Path(__file__).resolve().parents[1] / "docs" / "simulation.md"
_CALLS, _WARM_UP_CALLS = 6000, 50
PER_SECOND, P99 = "per second", "p99 ms"


@dataclasses.dataclass(frozen=True)
class Case:
    """A set-up, and what is done with it.

    Attributes:
        kind: "lookup", "update" or "train".
        shards: The number of shards.
        delay_ms: The delay of each direction; None without proxies.
        in_flight: How many calls, or steps of training, are in flight.
    """

    kind: str
    shards: int
    delay_ms: float | None
    in_flight: int = 1


@dataclasses.dataclass(frozen=True)
class Compared:
    """A figure as it was measured and as it was simulated.

    Attributes:
        case: The set-up.
        figure: `PER_SECOND` or `P99`.
        measured: The measured figure.
        simulated: The simulated figure.
    """

    case: Case
    figure: str
    measured: float
    simulated: float

    @property
    def error(self) -> float:
        """The simulated figure over the measured one, less 1."""
        return self.simulated / self.measured - 1.0


@dataclasses.dataclass(frozen=True)
class Found:
    """What was measured.

    Attributes:
        figures: The figures of each set-up.
        rows: The mean number of distinct ids of a call.
        batch: Examples per step of training.
        dense: The dense part of a step of training; None without training.
    """

    figures: list[tuple[Case, dict[str, float]]]
    rows: float
    batch: int
    dense: cost_training.Dense | None

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Found:
        """Returns what `dataclasses.asdict` has made a dict."""
        dense = given["dense"] and cost_training.Dense(**given["dense"])
        figures = [(Case(**case), figures) for case, figures in given["figures"]]
        return cls(figures, given["rows"], given["batch"], dense)


def main() -> None:
    arguments = parse_arguments()
    calls, trainings = None, None
    if arguments.against:
        found = measured_again(arguments.against)
    else:
        found, calls, trainings = measure(arguments)
    costs = _costs(arguments, calls, trainings)
    compared = compare(found, costs)
    print(table(compared))
    if arguments.write:
        write_section("simulate_check", table(compared), _PAGE)
    setup = {
        "constants": "measured anew" if arguments.measure else "as stored",
        "load_average_before": round(arguments.load, 2),
        "rounds": arguments.rounds,
        "seconds_a_round": arguments.seconds,
        "seed": 0,
        **native_programs.machine(),
    }
    figures: dict[str, Any] = {
        f"worst_error_{kind}_{figure.replace(' ', '_')}": error
        for (kind, figure), error in worst_errors(compared).items()
    }
    figures["compared"] = [dataclasses.asdict(each) for each in compared]
    result = {"benchmark": "simulate_check", "figures": figures, "setup": setup}
    print(json.dumps({**result, "measured": dataclasses.asdict(found)}))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--measure", action="store_true", help="measure the constants anew, too")
    add("--most-rows", type=int, default=MOST_ROWS, help="of a feature (%(default)s)")
    add("--output", type=Path, help="the file to write the constants to")
    add("--calls", type=Path, help="a file that keeps what calls took for cost_bench")
    add("--costs", type=Path, help="constants of cost_bench.py --output")
    add("--against", type=Path, help="simulate what an earlier run's output measured")
    add("--only", choices=("calls", "training"), help="check only these")
    add("--rounds", type=int, default=40, help="of each set-up (%(default)s)")
    add("--seconds", type=float, default=0.15, help="of a round (%(default)s)")
    add("--turns", type=int, default=3, help="of training (%(default)s)")
    add("--in-flight", type=int, nargs="+", default=[1, 4], help="calls in flight")
    add("--write", action="store_true", help="write the table to docs/simulation.md")
    arguments = parser.parse_args()
    arguments.shards = SHARDS
    arguments.load = os.getloadavg()[0]
    if arguments.quick:
        arguments.rounds, arguments.turns = 1, 1
        arguments.shards, arguments.most_rows = (1, 2), 2000
    return arguments


def _costs(
    arguments: argparse.Namespace,
    calls: cost_bench.Found | None,
    trainings: Mapping[Training, Trained] | None,
) -> Costs:
    if arguments.measure:
        return cost_bench.measure(arguments, calls, trainings)
    return measured_costs(arguments.costs) if arguments.costs else measured_costs()


def measured_again(path: Path) -> Found:
    """Returns what an earlier run measured, of which a file has the last line."""
    last = path.read_text(encoding="utf-8").splitlines()[-1]
    return Found.from_dict(json.loads(last)["measured"])


def measure(
    arguments: argparse.Namespace,
) -> tuple[Found, cost_bench.Found | None, Mapping[Training, Trained] | None]:
    """Measures all set-ups, and what tells the constants, if asked to.

    Returns:
        What was measured of the set-ups, of calls for constants, and of trainings for
        constants.
    """
    batch = 256 if arguments.quick else workload_w1.BATCH
    figures: list[tuple[Case, dict[str, float]]] = []
    rows, dense, of_costs, trainings = 0.0, None, None, None
    if arguments.only != "training":
        calls, of_costs = _measure_calls(arguments)
        rows = calls[0][1].rows
        figures += [
            (case, {PER_SECOND: each.per_second, P99: 1e3 * float(each.quantile(0.99))})
            for case, each in calls
        ]
    if arguments.only != "calls":
        rounds = TrainingRounds(arguments.quick) if arguments.measure else None
        dense, rates = _measure_training(arguments, batch, rounds)
        figures += [(case, {PER_SECOND: rate}) for case, rate in rates.items()]
        trainings = rounds and rounds.found
    return Found(figures, rows, batch, dense), of_costs, trainings


def compare(found: Found, costs: Costs) -> list[Compared]:
    """Simulates what was measured."""
    compared = []
    for case, figures in found.figures:
        simulated = _simulated(case, found, costs)
        ours = {PER_SECOND: simulated.per_second, P99: 1e3 * simulated.p99}
        compared += [
            Compared(case, name, value, ours[name]) for name, value in figures.items()
        ]
    return compared


def _simulated(case: Case, found: Found, costs: Costs) -> Simulated:
    point = dataclasses.replace(cost_bench.BASE, shards=case.shards)
    delay = {}
    if case.delay_ms is not None:
        delay = {"delay_seconds": case.delay_ms / 1e3, "proxies": True}
    if case.kind != "train":
        setup = cost_bench.setup_of(point, found.rows, **delay)
        return simulate_calls(
            case.kind,
            setup,
            in_flight=case.in_flight,
            costs=costs,
            calls=_CALLS,
            warm_up=_WARM_UP_CALLS,
        )
    assert found.dense is not None
    training = cost_training.Training(found.batch, 1, found.dense)
    setup = cost_training.setup_of(training, shards=case.shards, **delay)
    return simulate(setup, costs=costs, steps=200)


def _measure_calls(
    arguments: argparse.Namespace,
) -> tuple[list[tuple[Case, Measured]], cost_bench.Found | None]:
    """Measures lookups and updates of all set-ups, in turn; and those of constants."""
    found: dict[Case, list[Measured]] = {}
    with contextlib.ExitStack() as stack:
        of_costs = None
        if arguments.measure:
            of_costs = stack.enter_context(
                cost_bench.running_call_rounds(arguments.most_rows)
            )
        callers = {}
        for shards in arguments.shards:
            servers = stack.enter_context(running_shards(shards))
            for delay in DELAYS_MS:
                caller = stack.enter_context(_caller(servers, delay, arguments))
                callers[shards, delay] = caller
        _log("shards are filled")
        for number in range(arguments.rounds):
            if of_costs is not None:
                of_costs.measure(arguments.seconds)
            for (shards, delay), caller in callers.items():
                for kind in cost_bench.KINDS:
                    for in_flight in arguments.in_flight:
                        case = Case(kind, shards, delay, in_flight)
                        seconds = arguments.seconds * (1 if delay is None else 3)
                        measured = caller.measure(kind, seconds, in_flight)
                        found.setdefault(case, []).append(measured)
            _log(f"measured round {number + 1} of {arguments.rounds}")
    joined = [(case, cost_calls.joined(rounds)) for case, rounds in found.items()]
    return joined, of_costs and of_costs.found


@contextlib.contextmanager
def _caller(
    servers: Sequence[ShardProcess],
    delay_ms: float | None,
    arguments: argparse.Namespace,
) -> Iterator[Caller]:
    point = dataclasses.replace(cost_bench.BASE, shards=len(servers))
    with running_proxies(servers, delay_ms) as addresses:
        with cost_calls.running_caller(
            point, addresses, servers, arguments.most_rows
        ) as caller:
            yield caller


def _measure_training(
    arguments: argparse.Namespace, batch: int, rounds: TrainingRounds | None
) -> tuple[cost_training.Dense, dict[Case, float]]:
    """Returns the dense part of a step, and steps per second of all set-ups."""
    cases = [
        Case("train", shards, delay, IN_FLIGHT_OF_TRAINING)
        for shards in arguments.shards
        for delay in DELAYS_MS
    ]
    found: dict[Case, list[float]] = {case: [] for case in cases}
    dense = []
    for number in range(arguments.turns):
        if rounds is not None:
            rounds.measure()
        dense.append(cost_training.dense_part(batch, arguments.quick))
        for case in cases:
            found[case].append(_steps_per_second(case, batch, arguments.quick))
        _log(f"trained in turn {number + 1} of {arguments.turns}")
    alone = cost_training.median_of(dense)
    rates = {case: float(np.median(each)) for case, each in found.items()}
    return alone, rates


def _steps_per_second(case: Case, batch: int, quick: bool) -> float:
    options: list[object] = ["--embedding", "persia-remote", "--shards", case.shards]
    if case.delay_ms is not None:
        options += ["--delay-ms", case.delay_ms]
    said = cost_training.train(*options, batch=batch, quick=quick)
    return said["samples_per_second"] / batch


def worst_errors(compared: Sequence[Compared]) -> dict[tuple[str, str], float]:
    """Returns the largest error of each figure of each kind, without its sign."""
    worst: dict[tuple[str, str], float] = {}
    for each in compared:
        key = (each.case.kind, each.figure)
        worst[key] = max(worst.get(key, 0.0), abs(each.error))
    return worst


def table(compared: Sequence[Compared]) -> str:
    """Returns a table of all figures, in Markdown."""
    lines = [
        "| what | shards | delay each way | in flight | figure | measured | simulated "
        "| error |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in compared:
        case = each.case
        delay = "none" if case.delay_ms is None else f"{case.delay_ms:g} ms"
        lines.append(
            f"| {case.kind} | {case.shards} | {delay} | {case.in_flight} "
            f"| {each.figure} | {each.measured:.4g} | {each.simulated:.4g} "
            f"| {each.error:+.1%} |"
        )
    return "\n".join(lines) + "\n"


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
