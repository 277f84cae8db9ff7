"""Sends a batch's lookups ahead of the step that needs them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf import checks
from persia_tf import session as session_lib
from persia_tf.cluster import MOST_STALENESS
from persia_tf.data.lookup_trace import LookupTrace
from persia_tf.data.own_functions import own_functions
from persia_tf.layers.replicas import (
    has_other_workers,
    local_replicas,
    strategy_of,
)
from persia_tf.ops import load


def prefetch(dataset: tf.data.Dataset, model: Any, staleness: int = 4) -> Any:
    """Looks up the rows of batches to come while the model trains on earlier ones.

    The elements stay as they are: the model finds the rows that were sent for by
    its ids, and asks for whatever it does not find. So the same model runs with
    and without this stage, and it must be the last one that changes elements.

    In training, at most `staleness` earlier steps of this program that update a
    batch's tables are missing from its rows when the model uses them. More
    staleness hides more latency; `0` is synchronous: rows are asked for once
    every earlier update is acknowledged. In `evaluate` and `predict` rows are
    never stale.

    Under a `tf.distribute` strategy of several replicas Keras splits batches, so
    the stage must stand inside `strategy.distribute_datasets_from_function`. With
    several workers, a `Cluster(staleness=0)` and a staleness of 0 here, nothing is
    asked for ahead: a step's rows have the updates of all workers.

    Example:

    ```python
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    model.fit(ptf.data.prefetch(train, model, staleness=8),
              validation_data=ptf.data.prefetch(valid, model))
    ```

    Args:
        dataset: A `tf.data.Dataset` of batches, as `fit` takes them: `x`, `(x,
            y)` or `(x, y, sample_weight)`, where `x` may be a dict, a tuple, and
            ragged.
        model: The Keras model that will get them. It is built if it is not yet,
            and its `call` is traced once.
        staleness: An int of at least 0. Defaults to `4`.

    Returns:
        A `tf.data.Dataset` of the same elements.

    Raises:
        TypeError: if `dataset` is no `tf.data.Dataset`.
        ValueError: if `staleness` is negative, or the model has no
            `PersiaEmbedding`.
    """
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            "`dataset` must be a tf.data.Dataset. "
            f"Received: dataset of type {type(dataset).__name__}"
        )
    staleness = checks.integer("staleness", staleness, 0, MOST_STALENESS)
    trace = LookupTrace(model, dataset.element_spec)
    strategy = strategy_of(model)
    replicas = local_replicas(strategy)
    sessions = {lookup.route.session for lookup in trace.lookups}
    if staleness == 0 and has_other_workers(strategy):
        sessions -= _synchronous_sessions()
    if not sessions:
        return dataset
    stages = [
        _Stage(trace, session, staleness, replicas) for session in sorted(sessions)
    ]

    def register(streams: tuple[Any, ...], element: Any) -> tuple[Any, Any]:
        ids = trace.ids(element)
        next_streams = [stage(s, ids) for s, stage in zip(streams, stages)]
        return tuple(next_streams), element

    # The iterator holds the streams, and so ends them. 0: none is open yet.
    with own_functions():
        registered = dataset.scan(
            tuple(tf.zeros((), tf.int64) for _ in stages), register
        )
    return registered.prefetch((staleness + 1) * replicas)


class _Stage:
    """Registers what the layers of one session will look up."""

    def __init__(
        self, trace: LookupTrace, session: str, staleness: int, replicas: int
    ) -> None:
        self._places = [
            place
            for place, lookup in enumerate(trace.lookups)
            if lookup.route.session == session
        ]
        lookups = [trace.lookups[place] for place in self._places]
        self._attributes = {
            "session": session,
            "layers": [lookup.route.layer for lookup in lookups],
            "tables": [lookup.route.table for lookup in lookups],
            "combiners": [lookup.combiner for lookup in lookups],
            "dims": [lookup.route.dim for lookup in lookups],
            "trainable": [lookup.trainable for lookup in lookups],
            "absents": [lookup.route.absent.kind for lookup in lookups],
            "uses": [lookup.use for lookup in lookups],
            "staleness": staleness,
            "replicas": replicas,
        }

    def __call__(
        self, stream: tf.Tensor, ids: list[tuple[tf.Tensor, tf.Tensor]]
    ) -> tf.Tensor:
        own, splits = zip(*(ids[place] for place in self._places))
        following = load.ops().persia_prefetch(
            stream=stream, ids=own, splits=splits, **self._attributes
        )
        following.set_shape(())
        return following


def _synchronous_sessions() -> set[str]:
    """Names of those by which no step may miss an update of another worker.

    A stage knows this worker's updates alone, so it would ask too early.
    """
    return {s.name for s in session_lib.open_sessions() if s.staleness == 0}
