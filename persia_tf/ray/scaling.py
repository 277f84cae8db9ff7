"""Changes the number of shards of a `ptf.ray.Cluster` that runs."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

import ray

from persia_tf import errors
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.driver import reshard

if TYPE_CHECKING:
    from persia_tf.ray.running import Running

_LOGGER = logging.getLogger("persia.ray")

# How long a shard may take to answer a request about the cluster.
_ANSWER_SECONDS = 20.0
_RECORD_SECONDS = 10.0


def scale(running: Running, shards: int, most_bytes_per_second: int) -> None:
    """Changes the number of shards, and waits until their rows have moved.

    Args:
        running: The servers.
        shards: The number of shards that there are to be.
        most_bytes_per_second: The most bytes of rows that a shard receives; 0 for no
            limit.

    Raises:
        PersiaError: As `ptf.ray.Cluster.scale` does.
    """
    with ClusterAdmin(
        *(list(running.addresses), _ANSWER_SECONDS),
        *(running.token_path, running.settings.tls),
    ) as admin:
        _tell_addresses(admin, running)
        if shards > len(running.shards):
            _add(admin, running, shards - len(running.shards))
        done = reshard(
            admin,
            running.addresses[:shards],
            most_bytes_per_second=most_bytes_per_second,
        )
    _LOGGER.info("moved %d slots with %d rows", done.slots, done.rows)
    if done.slots:
        # Until then, a shard that dies has no checkpoint of the rows that it got.
        running.saving.save()
    while len(running.shards) > shards:
        running.remove_last_shard()


def _tell_addresses(admin: ClusterAdmin, running: Running) -> None:
    """Tells the cluster where shards are that Ray has restarted elsewhere."""
    for address in running.addresses:
        # With several such shards, each is told once the last one is.
        with contextlib.suppress(errors.UnavailableError, errors.DeadlineExceededError):
            admin.join(address)
    admin.topology()


def _add(admin: ClusterAdmin, running: Running, count: int) -> None:
    """Starts shards, and makes them members of the cluster."""
    for number, actors, address in running.start_shards(count):
        try:
            admin.join(address)
            ray.get(actors[0].set_known_as.remote(address), timeout=_RECORD_SECONDS)
        except Exception:
            running.end([actors])
            raise
        running.follow(number, actors, address)
