"""`ClusterAdmin`: asks shards for their topology, and changes it."""

from __future__ import annotations

import ctypes
import dataclasses
import enum

import numpy as np

from persia_tf import errors
from persia_tf.native import capi, cluster_types
from persia_tf.resharding.connection import ClusterConnection
from persia_tf.resharding.plan import Move

SLOTS = 16384


@dataclasses.dataclass(frozen=True)
class Member:
    """A shard of a cluster.

    Attributes:
        id: A random number that the shard keeps as long as it keeps its rows.
        number: The shard's number for people.
        address: `"host:port"`.
        has_left: Whether it has left the cluster.
    """

    id: int
    number: int
    address: str
    has_left: bool


@dataclasses.dataclass(frozen=True)
class Topology:
    """The shards of a cluster, and the slots that each owns.

    Attributes:
        cluster: A random number that identifies the cluster.
        epoch: A number that rises with each change.
        members: The shards, those included that have left.
        owners: For each slot, the id of the member that owns it.
    """

    cluster: int
    epoch: int
    members: tuple[Member, ...]
    owners: np.ndarray

    @property
    def present(self) -> tuple[Member, ...]:
        """The members that have not left."""
        return tuple(each for each in self.members if not each.has_left)

    def slots_of(self, member: int) -> int:
        """How many slots a member owns."""
        return int(np.count_nonzero(self.owners == member))


class _Action(enum.IntEnum):
    START = 1
    PROGRESS = 2
    STOP = 3


class MoveState(enum.IntEnum):
    """What a shard does about the slots that it was told to take over."""

    IDLE = 0
    RUNNING = 1
    ENDED = 2


@dataclasses.dataclass(frozen=True)
class MoveProgress:
    """How far a shard is with taking slots over.

    Attributes:
        state: A `MoveState`.
        error: Why the move failed; None if it did not.
        source: The id of the shard that the slots come from.
        slots: How many slots are to be taken over.
        moved: How many were.
        rows: How many rows were received, repeats included.
        bytes: How many bytes these rows have.
        most_held: For how many seconds requests for some slots had to wait at most.
    """

    state: MoveState
    error: errors.PersiaError | None
    source: int
    slots: int
    moved: int
    rows: int
    bytes: int
    most_held: float


class ClusterAdmin(ClusterConnection):
    """Asks the shards of a cluster for their topology, and changes it."""

    def topology(self, *, all_must_answer: bool = True) -> Topology:
        """Asks all shards, and tells each what the others know.

        Args:
            all_must_answer: Whether to fail if a shard does not answer.

        Returns:
            The newest `Topology`.

        Raises:
            FailedPreconditionError: if the shards belong to no cluster, or to several.
            UnavailableError: if a shard does not answer.
        """
        library = capi.library()
        handle = cluster_types.TopologyHandle()
        library.persia_cluster_fetch(
            self._handle, int(all_must_answer), ctypes.byref(handle)
        )
        try:
            view = cluster_types.TopologyView()
            library.persia_topology_get(handle, ctypes.byref(view))
            members = tuple(_member(handle, place) for place in range(view.members))
            places = np.empty(SLOTS, np.uint16)
            library.persia_topology_owners(
                handle, places.ctypes.data_as(ctypes.POINTER(ctypes.c_uint16))
            )
        finally:
            library.persia_topology_free(handle)
        ids = np.array([member.id for member in members], np.uint64)
        return Topology(view.cluster, view.epoch, members, ids[places])

    def join(self, address: str) -> int:
        """Makes the shard at an address a member, unless it is one; returns its id.

        Raises:
            FailedPreconditionError: if it belongs to another cluster.
            UnavailableError: if a shard does not answer.
        """
        member = ctypes.c_uint64()
        capi.library().persia_cluster_join(
            self._handle, capi.utf8(address), ctypes.byref(member)
        )
        return member.value

    def leave(self, member: int) -> None:
        """Records that a shard, which must own no slots, has left the cluster.

        Raises:
            FailedPreconditionError: if it owns slots.
            UnavailableError: if another shard does not answer.
        """
        capi.library().persia_cluster_leave(self._handle, member)

    def start(self, move: Move, most_bytes_per_second: int = 0) -> None:
        """Has a shard begin to take slots over, in the background.

        Args:
            move: The `Move`.
            most_bytes_per_second: The most bytes of rows to send; 0 for no limit.

        Raises:
            FailedPreconditionError: if the taker takes other slots over at present.
        """
        slots = np.zeros(SLOTS, np.uint8)
        slots[move.slots] = 1
        self._do(
            _Action.START,
            move.taker,
            source=move.source,
            slots=slots.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)),
            most_bytes_per_second=most_bytes_per_second,
        )

    def progress(self, taker: int) -> MoveProgress:
        """Returns how far a shard is with the move that was started last."""
        return self._do(_Action.PROGRESS, taker)

    def stop(self, taker: int) -> MoveProgress:
        """Stops a shard's move: slots that were not moved yet stay where they are."""
        return self._do(_Action.STOP, taker)

    def _do(self, action: _Action, taker: int, **fields: object) -> MoveProgress:
        native = cluster_types.Move(action=action, taker=taker, **fields)
        library = capi.library()
        library.persia_cluster_move(self._handle, ctypes.byref(native))
        error = None
        if native.error:
            text = library.persia_last_error().decode("utf-8", "replace")
            error = errors.from_code(native.error, text)
        return MoveProgress(
            state=MoveState(native.state),
            error=error,
            source=native.from_member,
            slots=native.slots_to_move,
            moved=native.slots_moved,
            rows=native.rows,
            bytes=native.bytes,
            most_held=native.most_held_us / 1e6,
        )


def _member(topology: cluster_types.TopologyHandle, place: int) -> Member:
    native = cluster_types.Member()
    capi.library().persia_topology_member(topology, place, ctypes.byref(native))
    return Member(
        native.id, native.number, native.address.decode(), bool(native.has_left)
    )
