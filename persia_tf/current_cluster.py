"""The cluster of layers and calls that are given no `cluster=`."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from persia_tf.cluster import Cluster

_cluster: contextvars.ContextVar[Cluster | None] = contextvars.ContextVar(
    "persia_tf_use_cluster", default=None
)


@contextlib.contextmanager
def use_cluster(cluster: Cluster) -> Iterator[None]:
    """Sets the cluster of everything in a `with` block that is given no `cluster=`.

    It applies to layers that are created in the block, tables (`ptf.Table`),
    checkpoints (`ptf.checkpoint.save`, `restore`, `ptf.callbacks.TableCheckpoint`) and
    models that are converted; they stay on this cluster after the block. An explicit
    `cluster=` takes precedence over it. For layers that are created from a config, as
    those of a saved model, this cluster takes precedence over the one in the config,
    with its shards, their number and all of its options.

    Example:

    ```python
    with ptf.use_cluster(ptf.Cluster(["10.0.0.9:7000"])):
        model = keras.models.load_model("model.keras")
        users = ptf.Table("user")
    ```

    Args:
        cluster: A `ptf.Cluster`.

    Raises:
        TypeError: if `cluster` is not a `ptf.Cluster`.
    """
    if not isinstance(cluster, Cluster):
        raise TypeError(
            f"`cluster` must be a ptf.Cluster. Received: cluster={cluster!r}"
        )
    with set_within(_cluster, cluster):
        yield


def cluster_in_use() -> Cluster | None:
    """The cluster of the innermost `use_cluster`, or None outside of one."""
    return _cluster.get()


def current_cluster() -> Cluster:
    """The cluster of the innermost `use_cluster`, else that of the environment."""
    return cluster_in_use() or Cluster()


@contextlib.contextmanager
def set_within(variable: contextvars.ContextVar[Any], value: Any) -> Iterator[None]:
    """Sets a context variable within a `with` block, and then restores its value."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
