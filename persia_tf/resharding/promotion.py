"""`promote`: makes a standby take its primary's place.

Commands of servers' images use this module, so it must not import NumPy.
"""

from __future__ import annotations

import os

from persia_tf.credentials import tls as tls_lib
from persia_tf.native import capi
from persia_tf.resharding.connection import ClusterConnection


class _Promotion(ClusterConnection):
    def run(self, address: str, primary_is_gone: bool) -> None:
        capi.library().persia_cluster_promote(
            self._handle, capi.utf8(address), int(primary_is_gone)
        )


def promote(
    address: str,
    *,
    primary_is_gone: bool = False,
    timeout: float,
    auth_token_file: str | os.PathLike[str] | None = None,
    tls: tls_lib.TLS | None = None,
) -> None:
    """Makes a standby take its primary's place, and waits until it serves.

    It may be called again, from any machine: a standby that was promoted already stays
    what it is.

    Args:
        address: `"host:port"` of the standby.
        primary_is_gone: If False, the standby asks its primary to give up, and nothing
            is lost. If True, the primary is not asked: then its process must have
            ended, or clients must never be able to reach it again. Defaults to False.
        timeout: Seconds to wait for each answer.
        auth_token_file: As in `ptf.Cluster`. Defaults to None.
        tls: As in `ptf.Cluster`. Defaults to None.

    Raises:
        FailedPreconditionError: If there is no standby at the address, or it has not
            received all rows of its primary yet.
        UnavailableError: If the standby does not answer, or its primary does not and
            `primary_is_gone` is False.
    """
    with _Promotion([address], timeout, auth_token_file, tls) as promotion:
        promotion.run(address, primary_is_gone)
