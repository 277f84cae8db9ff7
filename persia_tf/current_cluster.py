"""`use_cluster`: the cluster of layers and calls without a `cluster=` argument."""

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
    """Sets the cluster that a `with` block uses wherever `cluster=` is omitted.

    The cluster applies to layers, tables (`ptf.Table`) and callbacks
    (`ptf.callbacks.TableCheckpoint`) that are created in the block, and to models that
    are converted in it; they use this cluster after the block too. It also applies to
    calls of `ptf.checkpoint.save` and `restore`. An explicit `cluster=` takes
    precedence. Layers that are created from a config, such as those of a saved model,
    use this cluster with all its shards and options, instead of the cluster in the
    config.

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
    """Returns the cluster of the innermost `use_cluster` block, or None outside one."""
    return _cluster.get()


def current_cluster() -> Cluster:
    """Returns the cluster of the innermost `use_cluster`, else the environment's."""
    return cluster_in_use() or Cluster()


@contextlib.contextmanager
def set_within(variable: contextvars.ContextVar[Any], value: Any) -> Iterator[None]:
    """Sets a context variable for a `with` block, and restores its value at the end."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
