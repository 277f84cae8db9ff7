"""Sends the lookups of a batch before the step that needs their rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.client import session as session_lib
from persia_tf.cluster import MOST_STALENESS
from persia_tf.data.lookup_trace import LookupTrace
from persia_tf.layers.replicas import (
    has_other_workers,
    local_replicas,
    strategy_of,
)
from persia_tf.ops import load


def prefetch(dataset: tf.data.Dataset, model: Any, staleness: int = 4) -> Any:
    """Looks up the rows of later batches while the model trains on earlier ones.

    The elements of the dataset are unchanged: the model finds prefetched rows by the
    batch's ids, and looks up the rows that were not prefetched. So the same model runs
    with and without this stage. No later stage of the pipeline may change the elements.

    In training, the rows of a batch may miss the updates of at most `staleness` earlier
    steps of this program. Only steps that update the batch's tables count. A larger
    staleness hides more latency. `0` is synchronous: rows are looked up only after
    every earlier update is acknowledged. In `evaluate` and `predict`, rows are never
    stale.

    Under a `tf.distribute` strategy with several replicas, Keras splits batches, so
    this stage must be inside `strategy.distribute_datasets_from_function`. If both the
    `Cluster` and this stage have a staleness of 0, a strategy with several workers
    prefetches nothing, so that a step's rows include the updates of all workers.

    Example:

    ```python
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    model.fit(ptf.data.prefetch(train, model, staleness=8),
              validation_data=ptf.data.prefetch(valid, model))
    ```

    Args:
        dataset: A `tf.data.Dataset` of batches for `fit`: `x`, `(x, y)` or `(x, y,
            sample_weight)`, where `x` may be a dict or a tuple, and may be ragged.
        model: The Keras model that will get the batches. It is built if necessary, and
            its `call` is traced.
        staleness: An int of at least 0. Defaults to `4`.

    Returns:
        A `tf.data.Dataset` with the same elements.

    Raises:
        TypeError: if `dataset` is not a `tf.data.Dataset`, or `model` is not a Keras
            model.
        ValueError: if `staleness` is negative, the model has no `PersiaEmbedding`, or
            it cannot be called with an element of the dataset.
    """
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            "`dataset` must be a tf.data.Dataset. "
            f"Received: dataset of type {type(dataset).__name__}"
        )
    checks.instance("model", model, keras.Model, "a Keras model")
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

    # The scan's state holds the numbers of the prefetch streams, so that these streams
    # are closed with the dataset's iterator. A 0 means that no stream is open yet.
    with _own_functions():
        registered = dataset.scan(
            tuple(tf.zeros((), tf.int64) for _ in stages), register
        )
    return registered.prefetch((staleness + 1) * replicas)


class _Stage:
    """Registers the lookups of coming batches, for the layers of one session."""

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
    """Returns the names of sessions with a staleness of 0.

    With a staleness of 0, no step may miss an update of another worker. A prefetch
    stage knows only the updates of its own worker, so it would look up rows too early.
    """
    return {s.name for s in session_lib.open_sessions() if s.staleness == 0}


@contextlib.contextmanager
def _own_functions() -> Iterator[None]:
    """Makes datasets of a `with` block the only owners of their functions.

    `Dataset.scan` also adds its function, and the functions that this function calls,
    to the default graph. In eager mode, the default graph lives as long as the program,
    and never frees functions. So within the block, a temporary graph is the default
    graph; execution remains eager.
    """
    eager_mode = _eager_mode()
    if not tf.executing_eagerly() or eager_mode is None:
        yield
        return
    with tf.Graph().as_default(), eager_mode():
        yield


def _eager_mode():
    """Returns TensorFlow's `eager_mode`, or None if this version does not expose it."""
    context = getattr(getattr(tf, "__internal__", None), "eager_context", None)
    return getattr(context, "eager_mode", None)
