"""What of a cluster breaks first."""

from __future__ import annotations

from persia_tf.simulation.connection_limits import connection_limits
from persia_tf.simulation.failure_limits import failure_limits
from persia_tf.simulation.limit import Facts, Limit
from persia_tf.simulation.load_limits import load_limits
from persia_tf.simulation.metadata_limits import metadata_limits
from persia_tf.simulation.recovery_limits import recovery_limits
from persia_tf.simulation.row_limits import row_limits


def limits_of(facts: Facts) -> tuple[Limit, ...]:
    """Returns the limits of a cluster, that with the least headroom first.

    What has a headroom below 1 does not work as the set-up says. What is busy has one
    of 1 if it limits the throughput, which breaks nothing.

    Args:
        facts: The cluster, and what it does.
    """
    limits = [
        *connection_limits(facts),
        *metadata_limits(facts),
        *row_limits(facts),
        *recovery_limits(facts),
        *failure_limits(facts),
        *load_limits(facts),
    ]
    return tuple(sorted(limits, key=lambda limit: limit.headroom))
