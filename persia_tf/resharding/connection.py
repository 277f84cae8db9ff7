"""`ClusterConnection`: connections to shards, by which a cluster is administered.

Commands of servers' images use this module, so it must not import NumPy.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from persia_tf.credentials import auth
from persia_tf.credentials import tls as tls_lib
from persia_tf.native import capi, cluster_types

if TYPE_CHECKING:
    from typing_extensions import Self


class ClusterConnection:
    """Connections to the shards of a cluster.

    Args:
        addresses: `"host:port"` of some shards of the cluster.
        timeout: Seconds to wait for each answer.
        auth_token_file: As in `ptf.Cluster`.
        tls: As in `ptf.Cluster`, or None.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        timeout: float,
        auth_token_file: str | os.PathLike[str] | None = None,
        tls: tls_lib.TLS | None = None,
    ) -> None:
        self._handle = cluster_types.ClusterHandle()
        token = auth.read_token(auth.token_file(auth_token_file))
        credentials = tls_lib.read(tls).native()
        capi.library().persia_cluster_open(
            *(capi.utf8(",".join(addresses)), token, ctypes.byref(credentials)),
            *(timeout, ctypes.byref(self._handle)),
        )

    def close(self) -> None:
        """Closes the connections."""
        capi.library().persia_cluster_free(self._handle)
        self._handle = cluster_types.ClusterHandle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
