"""`ClusterWatch`: asks the shards of a cluster what they know, and changes nothing.

Commands of servers' images use this module, so it must not import NumPy.
"""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import enum
from collections.abc import Mapping, Sequence

from persia_tf import errors
from persia_tf.native import capi, cluster_types
from persia_tf.resharding.connection import ClusterConnection

SLOTS = 16384


@dataclasses.dataclass(frozen=True)
class Member:
    """A shard of a cluster.

    Attributes:
        id: A random number that the shard keeps as long as it keeps its rows.
        number: The shard's number for people.
        address: `"host:port"`.
        has_left: Whether it has left the cluster.
        standby: `"host:port"` of its standby; `""` if it has none.
        answers: Whether it answered `ClusterWatch.look`.
    """

    id: int
    number: int
    address: str
    has_left: bool
    standby: str = ""
    answers: bool = False


@dataclasses.dataclass(frozen=True)
class ClusterLook:
    """What the shards of a cluster know of it.

    Attributes:
        cluster: A random number that identifies the cluster.
        epoch: A number that rises with each change.
        members: The shards that have not left.
        slots: For each member's id, how many slots it owns.
    """

    cluster: int
    epoch: int
    members: tuple[Member, ...]
    slots: Mapping[int, int]


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


class MoveAction(enum.IntEnum):
    """What a shard is asked about taking slots over."""

    START = 1
    PROGRESS = 2
    STOP = 3


class ClusterWatch(ClusterConnection):
    """Asks the shards of a cluster what they know, and changes nothing."""

    def look(self, away: Sequence[str] = ()) -> ClusterLook | None:
        """Asks all shards of the cluster, at once.

        Args:
            away: `"host:port"` of shards that are known not to answer. They are not
                asked. Defaults to none.

        Returns:
            The newest that they know; None if the shards belong to no cluster.

        Raises:
            FailedPreconditionError: if the shards belong to several clusters.
            PersiaError: if no shard answers.
        """
        library = capi.library()
        handle = cluster_types.TopologyHandle()
        library.persia_cluster_look(
            self._handle, capi.utf8(",".join(away)), ctypes.byref(handle)
        )
        if not handle:
            return None
        try:
            view = cluster_types.TopologyView()
            library.persia_topology_get(handle, ctypes.byref(view))
            members = [member_at(handle, place) for place in range(view.members)]
            places = (ctypes.c_uint16 * SLOTS)()
            library.persia_topology_owners(handle, places)
        finally:
            library.persia_topology_free(handle)
        counts = collections.Counter(places)
        return ClusterLook(
            cluster=view.cluster,
            epoch=view.epoch,
            members=tuple(member for member in members if not member.has_left),
            slots={
                member.id: counts[place]
                for place, member in enumerate(members)
                if not member.has_left
            },
        )

    def progress(self, taker: int) -> MoveProgress:
        """Returns how far a shard is with the move that was started last."""
        return self._do(MoveAction.PROGRESS, taker)

    def slot_loads(self, member: int) -> tuple[ctypes.Array, ctypes.Array]:
        """Returns what lookups and updates asked of each slot since a shard started.

        Args:
            member: The shard's id.

        Returns:
            Two arrays with an element per slot, both estimated from samples: how many
            ids the requests had, and how many bytes the vectors of these ids take.
        """
        ids, sizes = (ctypes.c_uint64 * SLOTS)(), (ctypes.c_uint64 * SLOTS)()
        capi.library().persia_cluster_slot_loads(self._handle, member, ids, sizes)
        return ids, sizes

    def _do(self, action: MoveAction, taker: int, **fields: object) -> MoveProgress:
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


def member_at(topology: cluster_types.TopologyHandle, place: int) -> Member:
    """Returns a member of a topology of the core."""
    native = cluster_types.Member()
    capi.library().persia_topology_member(topology, place, ctypes.byref(native))
    return Member(
        id=native.id,
        number=native.number,
        address=native.address.decode(),
        has_left=bool(native.has_left),
        standby=native.standby.decode(),
        answers=bool(native.answers),
    )
