"""Slots move while the networks of their shards are cut.

A proxy stands in front of each shard, and the cluster knows the shard by the proxy's
address. So a cut comes between a shard and all others: the shard that takes its slots
over, the command that moves them, and the program that trains.

CUTS=100 makes so many cuts; CI makes fewer. SEED=2 draws others.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import socket
import threading
import time

import numpy as np
import pytest
import tcp_proxy
from counting import Counting
from harness import DEADLINE_SECONDS, is_used, wait_until
from resharding import Repeated, reshard

import persia_tf as ptf
from persia_tf.native import capi, cluster_types
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.watch import SLOTS, member_at

CUTS = int(os.environ.get("CUTS", "18"))
SEED = int(os.environ.get("SEED", "1"))
# For how long a network passes nothing, at most.
MOST_SECONDS = 1.0
# Training goes on for so many steps between two cuts, at most.
MOST_STEPS = 5


class Network(tcp_proxy.TcpProxy):
    """The network in front of a shard, which is cut in several ways.

    Also cuts each connection after some bytes, until `heal` is called: in the middle of
    a request, or of the reply to one that the shard has done.
    """

    KINDS = ("reset", "end", "reset_some", "refuse", "stall", "lose")

    def __init__(self, shard: str, seed: int) -> None:
        cuts = tcp_proxy.Cuts(seed, mean_bytes=50_000, hold=MOST_SECONDS / 2)
        with socket.socket() as reserved:
            # A socket keeps a port that it asked for when it listens no more.
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            port = reserved.getsockname()[1]
            # With a delay, the steps by which slots move take longer: more are cut.
            super().__init__(shard, delay=0.003, cuts=cuts, port=port)
        self._draw = random.Random(seed)

    def begin(self, kind: str, seconds: float) -> threading.Event:
        """Cuts the network; the event is set once it passes bytes again."""
        has_ended = threading.Event()

        def cut() -> None:
            getattr(self, f"_{kind}")(seconds)
            has_ended.set()

        # The proxy's thread passes no bytes while it does what it is asked for.
        self._ask(cut)
        return has_ended

    def heal(self) -> None:
        """Ends all cuts to come."""
        self._cuts = None
        self.cut()  # The connections that are open would be cut later.

    def _reset(self, seconds: float) -> None:
        for connection in list(self._open):
            connection.cut(reset=True)

    def _end(self, seconds: float) -> None:
        for connection in list(self._open):
            connection.cut(reset=False)

    def _reset_some(self, seconds: float) -> None:
        for connection in list(self._open):
            if self._draw.random() < 0.5:
                connection.cut(reset=True)

    def _refuse(self, seconds: float) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._reset(seconds)
        time.sleep(seconds)
        self._listener.listen()

    def _stall(self, seconds: float) -> None:
        # What was sent meanwhile arrives, but late.
        time.sleep(seconds)

    def _lose(self, seconds: float) -> None:
        # What was sent meanwhile does not arrive.
        time.sleep(seconds)
        self._reset(seconds)


@pytest.fixture
def networks(shard_process):
    """Three, each in front of a shard of its own."""
    with contextlib.ExitStack() as running:

        def start(number: int) -> Network:
            shard = shard_process()
            while True:
                network = Network(shard.address, seed=3 * SEED + number)
                running.enter_context(network)
                if not is_used(network.port):
                    return network

        yield [start(number) for number in range(3)]


class Resharding:
    """Gives slots to a third shard, and takes them back."""

    def __init__(self, shards) -> None:
        self._shards = shards

    def __call__(self) -> None:
        for wanted in (self._shards, self._shards[:2]):
            give_up = time.monotonic() + 2 * DEADLINE_SECONDS
            while not self._succeeds(wanted, give_up):
                pass  # The command is given again.

    def _succeeds(self, wanted, give_up: float) -> bool:
        try:
            reshard(self._shards[:2], wanted, "--timeout=1")
        except ptf.errors.PersiaError:
            if time.monotonic() > give_up:
                raise
            return False
        return True


def train_on(training, counting, steps: int) -> None:
    """Waits for more steps of a training, or for its error."""
    target = counting.steps + steps
    wait_until(
        lambda: counting.steps >= target or not training.is_running, "more steps"
    )
    assert training.is_running


def cut_at_random(networks, kind: str, draw: random.Random) -> None:
    """Cuts the network of one shard, or of several, for a while."""
    seconds = draw.uniform(0, MOST_SECONDS)
    some = draw.sample(networks, draw.choice((1, 1, 2, 3)))
    time.sleep(draw.uniform(0, 0.1))  # Cuts come at any time of a move.
    for has_ended in [network.begin(kind, seconds) for network in some]:
        assert has_ended.wait(DEADLINE_SECONDS)


class AskedAlone(ClusterAdmin):
    """Asks one shard what it owns, and tells it nothing."""

    def owned_slots(self, shards) -> np.ndarray:
        """For each slot, whether the shard says that it owns it."""
        library = capi.library()
        handle = cluster_types.TopologyHandle()
        # Shards that are away are not asked; this one is, since it is the admin's.
        away = ",".join(shard.address for shard in shards)
        library.persia_cluster_look(self._handle, capi.utf8(away), ctypes.byref(handle))
        try:
            view = cluster_types.TopologyView()
            library.persia_topology_get(handle, ctypes.byref(view))
            members = [member_at(handle, place) for place in range(view.members)]
            owners = np.empty(SLOTS, np.uint16)
            library.persia_topology_owners(
                handle, owners.ctypes.data_as(ctypes.POINTER(ctypes.c_uint16))
            )
        finally:
            library.persia_topology_free(handle)
        [own] = [place for place, member in enumerate(members) if member.answers]
        return owners == own


def slots_of(shards) -> list[int]:
    """How many slots each shard owns. Each slot must have exactly one owner."""
    owned = []
    for shard in shards:
        with AskedAlone([shard.address], 20) as asked:
            owned.append(asked.owned_slots(shards))
    np.testing.assert_array_equal(np.sum(owned, axis=0), np.ones(SLOTS))
    return [int(np.count_nonzero(each)) for each in owned]


def test_each_update_is_applied_once_and_each_slot_has_one_owner(networks, table):
    draw = random.Random(SEED)
    cluster = ptf.Cluster([each.address for each in networks[:2]], timeout=60)
    counting = Counting(table, cluster)
    counting()
    with Repeated(counting) as training, Repeated(Resharding(networks)) as moves:
        for number in range(CUTS):
            train_on(training, counting, steps=draw.randint(0, MOST_STEPS))
            assert moves.is_running
            cut_at_random(networks, Network.KINDS[number % len(Network.KINDS)], draw)
        for network in networks:
            network.heal()
    cluster.flush()
    assert sum(network.cut_connections for network in networks) > 0
    assert slots_of(networks) == [8192, 8192, 0]
    reshard(networks, networks)
    assert sorted(slots_of(networks)) == [5461, 5461, 5462]
    reshard(networks, networks[:2])
    assert slots_of(networks) == [8192, 8192, 0]
    assert counting.wrong_rows() == {}
