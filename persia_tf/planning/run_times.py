"""For which run, and with which machines, a plan predicts times."""

from __future__ import annotations

from collections.abc import Sequence

from persia_tf.planning.model_tables import ModelTable
from persia_tf.planning.time_options import TimeOptions
from persia_tf.planning.time_parts import RunTimes
from persia_tf.simulation.costs import Costs, measured_costs
from persia_tf.simulation.speed import MEASURED_KEY, at_speed, speed_seconds


def run_times(
    options: TimeOptions,
    tables: Sequence[ModelTable],
    speed: float | None,
) -> RunTimes:
    """Returns for which run, and with which machines, times are predicted.

    Args:
        options: What is asked for.
        tables: The tables of the model.
        speed: The speed of this machine, from `costs_here`.
    """
    staleness = options.staleness
    if staleness is None:
        staleness = min(table.staleness for table in tables)
    return RunTimes(
        is_measured=options.time,
        staleness=staleness,
        same_machine=options.same_machine,
        latency=options.latency,
        network_gbits=options.network_gbits,
        target_rate=options.target_rate,
        prices=options.prices,
        speed=speed,
    )


def costs_here() -> tuple[Costs, float | None]:
    """Returns what work takes on this machine.

    Returns:
        The measured costs, scaled to this machine, and by how much they were; or the
        costs as they are, and None, if the speed of the measured machine is not known.
    """
    costs = measured_costs()
    known = costs.measured.get(MEASURED_KEY)
    if not known:
        return costs, None
    here = speed_seconds()
    return at_speed(costs, here), here / known
