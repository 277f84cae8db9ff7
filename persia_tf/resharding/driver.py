"""`reshard`: moves a cluster's slots to the shards that are to own them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from persia_tf import errors
from persia_tf.resharding.admin import ClusterAdmin, Topology
from persia_tf.resharding.loads import measure
from persia_tf.resharding.plan import Move, even_moves, load_moves
from persia_tf.resharding.watch import MoveProgress, MoveState

# A poll costs each shard little. At first they follow quickly, since small moves end
# soon.
_FIRST_POLL_SECONDS = 0.005
_POLL_SECONDS = 0.1

# A move whose source or taker was restarted is started again.
_MOST_FAILURES = 10
_PAUSE_SECONDS = 1.0


class ReshardProgress:
    """How far a resharding is: `moved` of `slots` slots.

    Attributes:
        slots: How many slots are to move.
        moved: How many have moved.
        rows: How many rows were sent, repeats included.
        bytes: How many bytes these rows have.
        most_held: For how many seconds requests for some slots had to wait at most.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.moved = 0
        self.rows = 0
        self.bytes = 0
        self.most_held = 0.0

    def add(self, ended: MoveProgress) -> None:
        """Adds a move that has ended."""
        self.moved += ended.moved
        self.rows += ended.rows
        self.bytes += ended.bytes
        self.most_held = max(self.most_held, ended.most_held)

    def plus(self, running: Sequence[MoveProgress]) -> ReshardProgress:
        """Returns this progress with that of moves that are under way."""
        whole = ReshardProgress(self.slots)
        whole.__dict__.update(self.__dict__)
        for each in running:
            whole.add(each)
        return whole


def reshard(
    admin: ClusterAdmin,
    shards: Sequence[str],
    *,
    balance: str = "slots",
    measure_seconds: float = 10.0,
    most_bytes_per_second: int = 0,
    show: Callable[[ReshardProgress], None] = lambda progress: None,
) -> ReshardProgress:
    """Makes the given shards the owners of all slots, while the cluster is in use.

    Shards that are new join the cluster; those that are not listed give all their slots
    away and leave it. It can be interrupted at any moment, and called again, from
    another machine too: slots that have moved stay where they are.

    Args:
        admin: A `ClusterAdmin` of the cluster.
        shards: `"host:port"` of each shard that is to own slots.
        balance: What the shards are to have the same of: `"slots"`, or `"load"`, which
            is measured first.
        measure_seconds: For how many seconds the load is measured.
        most_bytes_per_second: The most bytes of rows that each shard receives; 0 for no
            limit.
        show: Called again and again with the `ReshardProgress`.

    Returns:
        The `ReshardProgress` at the end.

    Raises:
        PersiaError: if a shard does not answer, or has no memory for more rows.
    """
    wanted = [admin.join(address) for address in shards]
    topology = admin.topology()
    _wait_for_others(admin, topology)
    topology = admin.topology()
    if balance == "load":
        loads = measure(admin, topology, measure_seconds)
        moves = load_moves(topology.owners, loads, wanted)
    else:
        moves = even_moves(topology.owners, wanted)
    progress = ReshardProgress(sum(move.slots.size for move in moves))
    _Moves(admin, moves, most_bytes_per_second, progress, show).run()
    for member in admin.topology().present:
        if member.id not in wanted:
            admin.leave(member.id)
    return progress


def _wait_for_others(admin: ClusterAdmin, topology: Topology) -> None:
    """Waits for moves that another driver has started."""
    for member in topology.present:
        while admin.progress(member.id).state == MoveState.RUNNING:
            time.sleep(_POLL_SECONDS)


class _Moves:
    """Runs moves: each shard takes slots over from one other shard at a time."""

    def __init__(
        self,
        admin: ClusterAdmin,
        moves: Sequence[Move],
        most_bytes_per_second: int,
        progress: ReshardProgress,
        show: Callable[[ReshardProgress], None],
    ) -> None:
        self._admin = admin
        self._waiting = list(moves)
        self._running: dict[int, Move] = {}
        self._failures: dict[int, int] = {}
        self._most_bytes_per_second = most_bytes_per_second
        self._progress = progress
        self._show = show

    def run(self) -> None:
        poll_seconds = _FIRST_POLL_SECONDS
        while self._waiting or self._running:
            if self._start():
                poll_seconds = _FIRST_POLL_SECONDS
            told = {taker: self._admin.progress(taker) for taker in self._running}
            self._show(self._progress.plus(list(told.values())))
            ended = [taker for taker in told if told[taker].state != MoveState.RUNNING]
            for taker in ended:
                self._end(taker, told[taker])
            if not ended:
                time.sleep(poll_seconds)
                poll_seconds = min(1.5 * poll_seconds, _POLL_SECONDS)

    def _start(self) -> bool:
        started = False
        for move in list(self._waiting):
            if move.taker in self._running:
                continue
            self._admin.start(move, self._most_bytes_per_second)
            self._waiting.remove(move)
            self._running[move.taker] = move
            started = True
        return started

    def _end(self, taker: int, progress: MoveProgress) -> None:
        move = self._running.pop(taker)
        failed = progress.error
        if progress.state == MoveState.IDLE:
            failed = errors.UnavailableError("the shard was restarted")
        if failed is None:
            self._progress.add(progress)
            return
        self._failures[taker] = self._failures.get(taker, 0) + 1
        if self._failures[taker] > _MOST_FAILURES or not _may_pass(failed):
            raise failed
        time.sleep(_PAUSE_SECONDS)
        self._waiting.append(move)


def _may_pass(error: errors.PersiaError) -> bool:
    return isinstance(error, (errors.UnavailableError, errors.DeadlineExceededError))
