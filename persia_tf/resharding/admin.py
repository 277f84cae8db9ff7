"""`ClusterAdmin`: asks shards for their topology, and changes it."""

from __future__ import annotations

import ctypes
import dataclasses

import numpy as np

from persia_tf.native import capi, cluster_types
from persia_tf.resharding.plan import Move
from persia_tf.resharding.watch import (
    SLOTS,
    ClusterWatch,
    Member,
    MoveAction,
    MoveProgress,
    member_at,
)


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


class ClusterAdmin(ClusterWatch):
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
            members = tuple(member_at(handle, place) for place in range(view.members))
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
            MoveAction.START,
            move.taker,
            source=move.source,
            slots=slots.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8)),
            most_bytes_per_second=most_bytes_per_second,
        )

    def stop(self, taker: int) -> MoveProgress:
        """Stops a shard's move: slots that were not moved yet stay where they are."""
        return self._do(MoveAction.STOP, taker)
