"""`Resharder`: moves rows whenever the StatefulSet of the shards is scaled."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence

from persia_tf import errors
from persia_tf.base import addresses
from persia_tf.kubernetes.shard_pods import AddressTemplate, Scale, ordinal_of
from persia_tf.resharding.admin import SLOTS, ClusterAdmin, Member, Topology
from persia_tf.resharding.driver import reshard

_LOGGER = logging.getLogger("persia.kubernetes")

_CONNECT_SECONDS = 2.0


class Resharder:
    """Makes the pods that a StatefulSet is to have the owners of all rows.

    It keeps nothing: each round compares what the StatefulSet says with what the shards
    say. So it may be ended at any moment, and a new one goes on.

    Members of the cluster that are no pods of the StatefulSet keep their rows.

    Args:
        connect: Returns a `ClusterAdmin` of the cluster that has shards at some
            addresses.
        pods: The addresses of the StatefulSet's pods.
        standbys: The addresses of the pods of standbys, each of which may have taken
            the place of the pod with its number.
        most_bytes_per_second: The most bytes of rows that a shard receives; 0 for no
            limit.
    """

    def __init__(
        self,
        connect: Callable[[Sequence[str]], ClusterAdmin],
        pods: AddressTemplate,
        standbys: Sequence[AddressTemplate] = (),
        most_bytes_per_second: int = 0,
    ) -> None:
        self._connect = connect
        self._pods = pods
        self._templates = (pods, *standbys)
        self._most_bytes_per_second = most_bytes_per_second
        # A former process, or this one, may have been interrupted within a move, which
        # leaves shards with fewer slots than their share.
        self._least_slots: Callable[[int], int] = _most_of_a_share

    def round(self, scale: Scale) -> bool:
        """Moves what is to move, and waits for it; returns whether anything was.

        Raises:
            PersiaError: If a shard does not answer, or has no memory for more rows. The
                next round goes on.
        """
        listed = [
            address
            for ordinal in scale.ordinals
            for address in (each.of(ordinal) for each in self._templates)
            if _answers(address)
        ]
        if not listed:
            return False
        with self._connect(listed) as admin:
            return self._round(admin, scale, listed)

    def _round(self, admin: ClusterAdmin, scale: Scale, listed: Sequence[str]) -> bool:
        topology = admin.topology()
        known = {self._ordinal(each) for each in topology.present}
        new = [
            address
            for address in map(self._pods.of, scale.ordinals)
            if address in listed and self._pods.ordinal_of(address) not in known
        ]
        for address in new:
            admin.join(address)
        if new:
            topology = admin.topology()
        stays, goes = self._split(topology, scale)
        least = self._least_slots(len(stays))
        has_few = any(topology.slots_of(each.id) < least for each in stays)
        if stays and (goes or has_few):
            self._move(admin, stays, goes)
        self._least_slots = _any
        return bool(new or goes or has_few)

    def _move(
        self, admin: ClusterAdmin, stays: Sequence[Member], goes: Sequence[Member]
    ) -> None:
        _LOGGER.info(
            "moving rows, so that %s own them evenly%s",
            ", ".join(each.address for each in stays),
            "".join(f", and {each.address} none" for each in goes),
        )
        self._least_slots = _share
        done = reshard(
            admin,
            [each.address for each in stays],
            most_bytes_per_second=self._most_bytes_per_second,
        )
        _LOGGER.info(
            "moved %d slots with %d rows; requests for some slots waited for %.1f ms "
            "at most",
            *(done.slots, done.rows, done.most_held * 1000),
        )

    def _split(
        self, topology: Topology, scale: Scale
    ) -> tuple[list[Member], list[Member]]:
        """The members that are to own rows, and those that are not."""
        stays, goes = [], []
        for member in topology.present:
            ordinal = self._ordinal(member)
            is_dropped = ordinal is not None and scale.drops(ordinal)
            (goes if is_dropped else stays).append(member)
        return stays, goes

    def _ordinal(self, member: Member) -> int | None:
        return ordinal_of(member.address, self._templates)


def wait_until_left(
    admin: ClusterAdmin,
    address: str,
    scale: Callable[[], Scale],
    ordinal: int,
    pause: Callable[[], None],
) -> str:
    """Waits until a shard may end: at once, unless a scale-down takes its pod away.

    Args:
        admin: A `ClusterAdmin` of the cluster.
        address: `"host:port"` of the shard.
        scale: Returns the `Scale` of the StatefulSet now.
        ordinal: The pod's number.
        pause: Waits for some seconds; called between two questions.

    Returns:
        Why the shard may end.

    Raises:
        PersiaError: As `scale` does.
    """
    while True:
        if not scale().drops(ordinal):
            return "it keeps its rows, since no scale-down takes it away"
        try:
            topology = admin.topology(all_must_answer=False)
        except errors.FailedPreconditionError:
            return "it belongs to no cluster"
        except (errors.UnavailableError, errors.DeadlineExceededError) as error:
            _LOGGER.warning("%s", error)
        else:
            if all(each.address != address for each in topology.present):
                return "it owns no rows any more"
        pause()


def _any(_: int) -> int:
    return 1


def _most_of_a_share(shards: int) -> int:
    return _share(shards) * 3 // 4


def _share(shards: int) -> int:
    return SLOTS // max(1, shards)


def _answers(address: str) -> bool:
    """Whether something listens at an address: a pod may not be there yet."""
    where = addresses.parse(address)
    try:
        socket.create_connection(where, timeout=_CONNECT_SECONDS).close()
    except OSError:
        return False
    return True
