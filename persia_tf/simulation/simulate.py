"""Simulates a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from persia_tf.simulation.client import Client, Server
from persia_tf.simulation.clock import Clock
from persia_tf.simulation.costs import Costs, measured_costs
from persia_tf.simulation.messages import LOOKUP, UPDATE
from persia_tf.simulation.network import Machine, Network
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.shard import Shard
from persia_tf.simulation.slowness import Slowness
from persia_tf.simulation.trainer import AllReduce, Trainer
from persia_tf.simulation.worker import Worker


@dataclasses.dataclass(frozen=True)
class Simulated:
    """What a simulated cluster does.

    Attributes:
        per_second: Steps per second of each trainer, or calls per second.
        p50: The median time of a step or call, in seconds.
        p99: The 99th percentile of that time, in seconds.
        lookup_p50: The median time of a lookup, in seconds; 0 without lookups.
        lookup_p99: The 99th percentile of it.
        update_p50: The median time of an update, in seconds; 0 without updates.
        update_p99: The 99th percentile of it.
        busy: For each resource, the part of the time in which it is busy; of several
            of a kind, that of the busiest.
    """

    per_second: float
    p50: float
    p99: float
    lookup_p50: float
    lookup_p99: float
    update_p50: float
    update_p99: float
    busy: dict[str, float]

    @property
    def bottleneck(self) -> str:
        """The resource that is busy for most of the time."""
        return max(self.busy, key=lambda name: self.busy[name])


def simulate(
    setup: Setup,
    *,
    costs: Costs | None = None,
    steps: int = 400,
    warm_up: int = 20,
    seed: int = 0,
) -> Simulated:
    """Simulates training.

    Args:
        setup: The cluster, and what its trainers do.
        costs: What work takes. Defaults to None: as measured.
        steps: How many steps of each trainer to simulate.
        warm_up: How many steps before these are not counted.
        seed: Of the times that calls take.

    Returns:
        Steps per second of each trainer, and times of steps, lookups and updates.
    """
    world = _World(setup, costs or measured_costs(), seed)
    trainers = world.trainers()
    for trainer in trainers:
        trainer.start()
    first = trainers[0]
    world.clock.run(lambda: len(first.ends) >= warm_up)
    begin, busy = world.clock.now, world.busy_seconds()
    world.clock.run(lambda: len(first.ends) >= warm_up + steps)
    ends = np.array(first.ends[max(warm_up, 1) - 1 : warm_up + steps])
    took = np.diff(ends)
    return Simulated(
        float(len(took) / (ends[-1] - ends[0])),
        *_percentiles(took),
        *_percentiles(first.lookups[warm_up:]),
        *_percentiles(first.updates[warm_up:]),
        busy=world.busy_since(begin, busy),
    )


def simulate_calls(
    kind: str,
    setup: Setup,
    *,
    in_flight: int = 1,
    costs: Costs | None = None,
    calls: int = 2000,
    warm_up: int = 20,
    seed: int = 0,
) -> Simulated:
    """Simulates clients that look rows up, or update them, as fast as they can.

    Args:
        kind: "lookup" or "update".
        setup: The cluster; each trainer is a client.
        in_flight: How many calls each client has in flight.
        costs: What work takes. Defaults to None: as measured.
        calls: How many calls of the first client to simulate.
        warm_up: How many calls before these are not counted.
        seed: Of the times that calls take.

    Returns:
        Calls per second of the first client, and their times.
    """
    if kind not in (LOOKUP, UPDATE):
        raise ValueError(
            f'`kind` must be "lookup" or "update". Received: kind={kind!r}'
        )
    world = _World(setup, costs or measured_costs(), seed)
    took: list[float] = []
    ends: list[float] = []

    def start(client: Client, counts: bool) -> None:
        begin = world.clock.now

        def ended() -> None:
            if counts:
                took.append(world.clock.now - begin)
                ends.append(world.clock.now)
            start(client, counts)

        client.call(kind, setup.rows, ended)

    for number, client in enumerate(world.clients()):
        for _ in range(in_flight):
            start(client, counts=number == 0)
    world.clock.run(lambda: len(ends) >= warm_up)
    begin, busy = world.clock.now, world.busy_seconds()
    world.clock.run(lambda: len(ends) >= warm_up + calls)
    counted = took[warm_up:]
    return Simulated(
        calls / (ends[-1] - begin),
        *_percentiles(counted),
        *_percentiles(counted if kind == LOOKUP else []),
        *_percentiles(counted if kind == UPDATE else []),
        busy=world.busy_since(begin, busy),
    )


def _percentiles(seconds: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Returns the median and the 99th percentile; 0 of nothing."""
    if not len(seconds):
        return 0.0, 0.0
    p50, p99 = np.percentile(seconds, [50, 99])
    return float(p50), float(p99)


class _World:
    """The programs and machines of a set-up."""

    def __init__(self, setup: Setup, costs: Costs, seed: int) -> None:
        self.clock = Clock()
        self._setup = setup
        self._costs = costs
        self._network = Network(setup, self.clock, costs)
        self._random = np.random.default_rng(seed)
        self._slowness = Slowness(self.clock, self._random)
        self._only = self._new_machine()
        self._machines: dict[str, list[Machine]] = {}
        self.shards = [
            Shard(number, setup, costs, self.clock, self._machine("shards"))
            for number in range(setup.shards)
        ]
        self._threads = {
            "I/O threads of shards": [
                thread for shard in self.shards for thread in shard.io_threads
            ]
        }

    def trainers(self) -> list[Trainer]:
        """Returns the trainers, each with its client."""
        all_reduce = AllReduce(self._setup, self.clock)
        return [
            Trainer(self._setup, self._costs, self.clock, *each, all_reduce)
            for each in self._trainer_clients()
        ]

    def clients(self) -> list[Client]:
        """Returns the clients of the trainers alone."""
        return [client for _, client in self._trainer_clients()]

    def _trainer_clients(self) -> list[tuple[Machine, Client]]:
        workers = self._workers()
        made = []
        for number in range(self._setup.trainers):
            machine = self._machine("trainers")
            servers = [workers[number % len(workers)]] if workers else self.shards
            made.append((machine, self._client(number, machine, servers)))
        self._threads["threads of trainers"] = [
            thread for _, client in made for thread in client.threads
        ]
        return made

    def _workers(self) -> list[Worker]:
        made: list[Worker] = []
        for number in range(self._setup.workers):
            machine = self._machine("workers")
            client = self._client(number, machine, self.shards)
            made.append(Worker(self._costs, self.clock, machine, client))
            self._threads.setdefault("threads of workers", []).extend(
                (*client.threads, *made[-1].io_threads)
            )
        return made

    def _client(
        self, number: int, machine: Machine, servers: list[Shard] | list[Worker]
    ) -> Client:
        asked: list[Server] = list(servers)
        return Client(
            number,
            self._setup,
            self._costs,
            self.clock,
            machine,
            self._network,
            asked,
            self._slowness_of_machine().draw,
        )

    def _slowness_of_machine(self) -> Slowness:
        """Returns the slowness of a new program's machine."""
        if self._setup.same_machine:
            return self._slowness
        return Slowness(self.clock, self._random)

    def _machine(self, role: str) -> Machine:
        """Returns the machine of a new program."""
        if self._setup.same_machine:
            self._machines.setdefault("machine", [self._only])
            return self._only
        machine = self._new_machine()
        self._machines.setdefault(role, []).append(machine)
        return machine

    def _new_machine(self) -> Machine:
        return Machine.of(self._setup, self.clock, self._costs, self._random)

    def busy_seconds(self) -> dict[str, list[float]]:
        """Returns for how long each resource has been busy, by kind."""
        found: dict[str, list[float]] = {}
        for role, machines in self._machines.items():
            cores = self._setup.cores
            found[f"cores of {role}"] = [
                m.processor.busy_seconds / cores for m in machines
            ]
            for machine in machines:
                if machine.sends is not None and machine.receives is not None:
                    found.setdefault(f"network out of {role}", []).append(
                        machine.sends.busy_seconds
                    )
                    found.setdefault(f"network into {role}", []).append(
                        machine.receives.busy_seconds
                    )
        for name, threads in self._threads.items():
            found[name] = [thread.busy_seconds for thread in threads]
        if self._setup.in_memory < 1:
            found["disks of shards"] = [s.disk.busy_seconds for s in self.shards]
        return found

    def busy_since(
        self, begin: float, busy: dict[str, list[float]]
    ) -> dict[str, float]:
        """Returns the busy part of the time since then, of the busiest of each kind."""
        passed = self.clock.now - begin
        return {
            name: max(now - before for now, before in zip(each, busy[name])) / passed
            for name, each in self.busy_seconds().items()
        }
