"""A simulated client: the part of a program that asks shards or a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from persia_tf.simulation.clock import Action, Clock, after_all
from persia_tf.simulation.costs import CallCosts, Costs, Work
from persia_tf.simulation.messages import LOOKUP, UPDATE, sizes_of
from persia_tf.simulation.network import Machine, Network
from persia_tf.simulation.processor import Thread
from persia_tf.simulation.setup import Setup


def seconds_of_step(setup: Setup, costs: Costs) -> float:
    """Returns the processor time of a step's lookup and update in the client."""
    tables, size = setup.shards * setup.tables, setup.rows * setup.row_bytes
    return sum(
        work.seconds(1, setup.shards, tables, setup.rows, size)
        for call in (costs.lookup, costs.update)
        for work in (call.caller, call.io)
    )


class Server(Protocol):
    """What answers requests: a shard or an embedding worker.

    Attributes:
        machine: Where it runs.
        share: Its part of the rows of a call.
    """

    machine: Machine
    share: float

    def work(self, costs: CallCosts) -> Work:
        """Returns what a request takes of its thread."""

    def handle(
        self, client: int, kind: str, seconds: float, rows: float, then: Action
    ) -> None:
        """Handles a request of a client in `seconds` of a core, and `then` acts."""


class Client:
    """Sends a request to each server for each call, and joins the replies.

    Lookups and updates are each made by a thread of their own. One I/O thread writes
    all requests and reads all replies.

    Attributes:
        threads: Its threads.
    """

    def __init__(
        self,
        number: int,
        setup: Setup,
        costs: Costs,
        clock: Clock,
        machine: Machine,
        network: Network,
        servers: Sequence[Server],
        draw: Callable[[CallCosts], float],
    ) -> None:
        """Connects to all servers.

        Args:
            number: Which client it is; clients share the I/O threads of a server.
            setup: What is simulated.
            costs: What work takes.
            clock: The simulated time.
            machine: Where the client runs.
            network: What carries its messages.
            servers: Whom it asks: shards, or one embedding worker.
            draw: Returns how long a call takes, over the median of such calls.
        """
        self._number = number
        self._setup = setup
        self._costs = costs
        self._machine = machine
        self._network = network
        self._servers = servers
        self._draw = draw
        self._proxies = [network.proxy(machine) for _ in servers]

        def thread() -> Thread:
            return Thread(machine.processor, clock, costs.wake_seconds)

        self._callers = {LOOKUP: thread(), UPDATE: thread()}
        self._io = thread()
        self.threads = (*self._callers.values(), self._io)

    def call(self, kind: str, rows: float, then: Action) -> None:
        """Looks rows up, or updates them, and `then` acts."""
        costs = self._costs.lookup if kind == LOOKUP else self._costs.update
        slowness = self._draw(costs)
        servers = len(self._servers)
        tables, size = servers * self._setup.tables, rows * self._setup.row_bytes
        seconds = costs.caller.seconds(1, servers, tables, rows, size)
        joined = after_all(servers, then)

        def sent() -> None:
            for place, server in enumerate(self._servers):
                own = rows * server.share
                self._ask(place, kind, costs, slowness, own, joined)

        self._callers[kind].run(seconds * slowness, sent)

    def _ask(
        self,
        place: int,
        kind: str,
        costs: CallCosts,
        slowness: float,
        rows: float,
        then: Action,
    ) -> None:
        server, proxy = self._servers[place], self._proxies[place]
        sizes = sizes_of(kind, self._setup, rows)
        part = 0, 1, self._setup.tables, rows, rows * self._setup.row_bytes
        of_server = server.work(costs).seconds(*part) * slowness
        of_io = costs.io.seconds(*part) * slowness
        writing = of_io * sizes.request / (sizes.request + sizes.reply)
        reading = of_io - writing
        # Large messages are written and read in pieces, at the same time.
        writes_more = sizes.request > sizes.reply
        beside = (writing if writes_more else reading) * costs.overlap
        if writes_more:
            writing -= beside
        else:
            reading -= beside

        def written() -> None:
            self._network.send(
                sizes.request, self._machine, server.machine, proxy, arrived
            )

        def arrived() -> None:
            self._io.run(beside, _nothing)
            server.handle(self._number, kind, of_server, rows, answered)

        def answered() -> None:
            self._network.send(
                sizes.reply, server.machine, self._machine, proxy, replied
            )

        def replied() -> None:
            self._io.run(reading, then)

        self._io.run(writing, written)


def _nothing() -> None:
    pass
