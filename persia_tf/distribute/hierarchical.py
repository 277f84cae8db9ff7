"""The strategy whose workers form groups that share layers."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.base import checks
from persia_tf.distribute.multi_worker import MultiWorkerMirroredStrategy

_MOST_WORKERS = 1 << 20


class HierarchicalStrategy(MultiWorkerMirroredStrategy):
    """Several workers train one model, in groups that divide its large layers.

    By itself, this strategy does what `MultiWorkerMirroredStrategy` does: each worker
    has the whole dense network, and gradients are summed over all workers. In addition,
    it places each worker in a group of `group_size` workers. A plan from
    `ptf.parallel.plan` divides some layers among the workers of a group: each worker
    holds and computes its part of such a layer for the examples of the whole group.
    Workers then exchange activations of these layers instead of gradients. Gradients of
    the parts are summed over the groups only.

    Workers 0 to `group_size - 1` form the first group, the next ones the second, and so
    on. Each worker must have one device.

    Example:

    ```python
    # Run this on each worker, with the worker's own TF_CONFIG.
    strategy = ptf.distribute.HierarchicalStrategy(group_size=2)
    with strategy.scope():
        model = make_model()
        model.compile("adam", "binary_crossentropy")
        plan = ptf.parallel.plan(model, batch_size=4096)
        print(plan)
        plan.apply(model)
        model.fit(dataset)
    ```

    Source: Huang et al., "Hierarchical Training: Scaling Deep Recommendation Models on
    Large CPU Clusters", KDD 2021.

    Args:
        group_size: How many workers form a group; the number of workers must be a
            multiple of it. Defaults to None: all workers form one group.
        cluster_resolver: As for `MultiWorkerMirroredStrategy`.
        communication_options: As for `MultiWorkerMirroredStrategy`. Its
            `timeout_seconds` also bounds the exchanges within a group.

    Raises:
        ValueError: if the workers cannot be divided into groups of this size, if a
            worker has several devices, or as for `MultiWorkerMirroredStrategy`.
    """

    def __init__(
        self,
        group_size: int | None = None,
        cluster_resolver: tf.distribute.cluster_resolver.ClusterResolver | None = None,
        communication_options: tf.distribute.experimental.CommunicationOptions
        | None = None,
    ) -> None:
        if group_size is not None:
            checks.integer("group_size", group_size, 1, _MOST_WORKERS)
        super().__init__(cluster_resolver, communication_options)
        devices = len(self.extended.worker_devices)
        if devices != 1:
            raise ValueError(
                "each worker of a `HierarchicalStrategy` must have one device: start "
                "one worker for each device, and let it see no other (for example by "
                f"CUDA_VISIBLE_DEVICES). Received: a worker with {devices} devices"
            )
        self._group_size = _checked_size(group_size, self.workers)

    @property
    def workers(self) -> int:
        """The number of workers of all groups."""
        return self.num_replicas_in_sync

    @property
    def worker(self) -> int:
        """The index of this worker among all workers, from 0."""
        resolver = self.cluster_resolver
        if resolver is None or not resolver.task_type:
            return 0
        return _index_of(resolver)

    @property
    def group_size(self) -> int:
        """The number of workers in each group."""
        return self._group_size

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.workers // self._group_size

    @property
    def group(self) -> int:
        """The index of this worker's group, from 0."""
        return self.worker // self._group_size


def _checked_size(group_size: int | None, workers: int) -> int:
    """Returns the size of the groups, if the workers can form groups of this size."""
    if group_size is None:
        return workers
    if workers % group_size:
        raise ValueError(
            "the number of workers must be a multiple of `group_size`. "
            f"Received: group_size={group_size} with {workers} "
            f"worker{'s' if workers > 1 else ''} (TF_CONFIG lists them)"
        )
    return group_size


def _index_of(resolver: Any) -> int:
    """Returns the index of this task among the chief, if there is one, and workers."""
    if resolver.task_type == "chief":
        return 0
    chiefs = resolver.cluster_spec().as_dict().get("chief", [])
    return len(chiefs) + resolver.task_id
