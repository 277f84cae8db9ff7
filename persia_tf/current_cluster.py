"""Which cluster is meant where a program names none."""

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
    """Within it, a cluster is the one of all layers and calls that name none.

    Layers that are made there, tables (`ptf.Table`), checkpoints
    (`ptf.checkpoint.save`, `restore`, `ptf.callbacks.TableCheckpoint`) and models that
    are converted are on it, and stay on it afterwards. A `cluster=` that one of them
    is given goes before. For layers that are made from a config, as those of a saved
    model, the cluster here goes before the one that the config names: with its shards,
    their number and all of its options.

    Example:

    ```python
    with ptf.use_cluster(ptf.Cluster(["10.0.0.9:7000"])):
        model = keras.models.load_model("model.keras")
        users = ptf.Table("user")
    ```

    Args:
        cluster: A `ptf.Cluster`.

    Raises:
        TypeError: if `cluster` is none.
    """
    if not isinstance(cluster, Cluster):
        raise TypeError(
            f"`cluster` must be a ptf.Cluster. Received: cluster={cluster!r}"
        )
    with set_within(_cluster, cluster):
        yield


def cluster_in_use() -> Cluster | None:
    """The cluster of `use_cluster`, if that was entered here."""
    return _cluster.get()


def current_cluster() -> Cluster:
    """The cluster of `use_cluster`, else the one of the environment."""
    return cluster_in_use() or Cluster()


@contextlib.contextmanager
def set_within(variable: contextvars.ContextVar[Any], value: Any) -> Iterator[None]:
    """Sets a context variable, and puts its value back."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
