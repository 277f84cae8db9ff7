"""Which shards a cluster has after some were added and removed."""

from __future__ import annotations

from collections.abc import Sequence

from persia_tf import errors
from persia_tf.resharding.admin import Topology


def shards_after(
    topology: Topology, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> list[str]:
    """Returns the addresses of the shards that are to own all slots.

    Args:
        topology: The `Topology` of the cluster.
        add: `"host:port"` of shards that are to own slots, too.
        remove: `"host:port"` of shards that are to own none. They may have left the
            cluster already.

    Raises:
        InvalidArgumentError: If a shard of `remove` never was one of the cluster, or no
            shard is left.
    """
    present = [member.address for member in topology.present]
    known = {member.address for member in topology.members}
    unknown = [address for address in remove if address not in known]
    if unknown:
        raise errors.InvalidArgumentError(
            "the shards to remove must be named as the cluster names them: "
            f"{', '.join(present)}. Received: {', '.join(unknown)}"
        )
    stay = [address for address in present if address not in remove]
    stay += [address for address in add if address not in stay]
    if not stay:
        raise errors.InvalidArgumentError(
            "at least one shard must own the rows, but all shards are to be removed: "
            f"{', '.join(present)}"
        )
    return stay
