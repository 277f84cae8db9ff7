"""What a plan of times is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from persia_tf.base import checks
from persia_tf.cluster import MOST_STALENESS

# In seconds: a minute, which no network needs.
_MOST_LATENCY = 60.0
_PRICED = ("trainer", "shard")


@dataclasses.dataclass(frozen=True)
class Prices:
    """What programs cost per hour, in any currency.

    Attributes:
        trainer: The price of a trainer.
        shard: The price of a shard.
    """

    trainer: float
    shard: float


@dataclasses.dataclass(frozen=True)
class TimeOptions:
    """The options of `ptf.plan` about time. It has the defaults of `ptf.plan`.

    Attributes:
        time: Whether the time of the model's own step is measured.
        step_seconds: That time, if it is known.
        staleness: The staleness of the run; None for that of the cluster.
        latency: The delay of a message to a shard in seconds, each direction; 0 if
            shards are on this machine.
        network_gbits: The rate of a machine's network, in Gb/s, each direction.
        target_rate: How many examples per second are wanted; None for any number.
        prices: The prices of programs; None if they are not known.
    """

    time: bool = False
    step_seconds: float | None = None
    staleness: int | None = None
    latency: float = 0.0
    network_gbits: float = 10.0
    target_rate: float | None = None
    prices: Prices | None = None

    @property
    def is_asked(self) -> bool:
        """Whether times are asked for at all."""
        return self.time or self.step_seconds is not None

    @property
    def same_machine(self) -> bool:
        """Whether the trainer and all shards are on one machine."""
        return self.latency == 0 and self.target_rate is None


def checked_options(
    *,
    time: bool,
    step_seconds: float | None,
    staleness: int | None,
    latency: float,
    network_gbits: float,
    target_rate: float | None,
    prices: Mapping[str, float] | None,
) -> TimeOptions:
    """Returns the options of `ptf.plan` about time.

    Raises:
        TypeError: if an option has another type.
        ValueError: if a number is out of its range, `time` and `step_seconds` are both
            given, or other options are given with neither of them.
    """
    checks.instance("time", time, (bool, np.bool_), "a bool")
    if staleness is not None:
        staleness = checks.integer("staleness", staleness, 0, MOST_STALENESS)
    options = TimeOptions(
        time=bool(time),
        step_seconds=_positive_or_none("step_seconds", step_seconds),
        staleness=staleness,
        latency=checks.within("latency", latency, 0, _MOST_LATENCY),
        network_gbits=checks.positive("network_gbits", network_gbits),
        target_rate=_positive_or_none("target_rate", target_rate),
        prices=_prices(prices),
    )
    if options.time and options.step_seconds is not None:
        raise ValueError(
            "`step_seconds` must be None if `time` is True, which measures it. "
            f"Received: step_seconds={step_seconds!r}, time=True"
        )
    if not options.is_asked:
        _refuse_others(options)
    return options


def _refuse_others(options: TimeOptions) -> None:
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if value != field.default:
            raise ValueError(
                f"`{field.name}` is about time, so it needs `time=True`, which "
                "measures the model's own step, or `step_seconds`, which gives it. "
                f"Received: {field.name}={value!r}, time=False, step_seconds=None"
            )


def _positive_or_none(name: str, value: float | None) -> float | None:
    return None if value is None else checks.positive(name, value)


def _prices(prices: Any) -> Prices | None:
    if prices is None:
        return None
    checks.instance("prices", prices, Mapping, "a dict")
    if set(prices) != set(_PRICED):
        raise ValueError(
            "`prices` must have the price per hour of a trainer and of a shard, such "
            'as prices={"trainer": 3.0, "shard": 0.8}. Received: prices with '
            f"{sorted(map(str, prices))}"
        )
    return Prices(
        *(checks.within(f"prices['{name}']", prices[name], 0, 1e9) for name in _PRICED)
    )
