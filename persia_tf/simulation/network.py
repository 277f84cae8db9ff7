"""What carries messages between programs."""

from __future__ import annotations

import dataclasses

import numpy as np

from persia_tf.simulation.clock import Action, Clock
from persia_tf.simulation.costs import Costs
from persia_tf.simulation.link import Link
from persia_tf.simulation.processor import Processor, Thread
from persia_tf.simulation.setup import Setup


@dataclasses.dataclass(frozen=True)
class Machine:
    """A machine: its processor, and its network interface unless it is the only one."""

    processor: Processor
    sends: Link | None = None
    receives: Link | None = None

    @classmethod
    def of(
        cls, setup: Setup, clock: Clock, costs: Costs, random: np.random.Generator
    ) -> Machine:
        """Returns a new machine of a set-up."""
        processor = Processor(
            clock,
            setup.cores,
            crowded_speed=costs.crowded_speed,
            balance=costs.balance,
            balance_seconds=2 * costs.lookup.slow_seconds,
            random=random,
        )
        if setup.same_machine:
            return cls(processor)
        rate = setup.network_bytes_per_second
        return cls(processor, Link(clock, rate), Link(clock, rate))


class Network:
    """Carries messages, with the set-up's delay, between two machines or programs."""

    def __init__(self, setup: Setup, clock: Clock, costs: Costs) -> None:
        self._setup = setup
        self._clock = clock
        self._costs = costs

    def proxy(self, machine: Machine) -> Thread | None:
        """Returns the thread of a new proxy, if messages pass through proxies."""
        if not self._setup.proxies:
            return None
        return Thread(machine.processor, self._clock, self._costs.wake_seconds)

    def send(
        self,
        size: float,
        sender: Machine,
        receiver: Machine,
        proxy: Thread | None,
        then: Action,
    ) -> None:
        """Carries a message of `size` bytes, and `then` acts."""
        delay = self._setup.delay_seconds
        if proxy is not None:
            seconds = self._costs.proxy_request + self._costs.proxy_byte * size
            proxy.run(seconds, lambda: self._clock.after(delay, then))
        elif sender.sends is None or receiver.receives is None:
            if delay == 0:
                then()  # At once, since the core of the sender matters.
            else:
                self._clock.after(delay, then)
        else:
            receives = receiver.receives
            sender.sends.carry(
                size,
                lambda: self._clock.after(delay, lambda: receives.carry(size, then)),
            )
