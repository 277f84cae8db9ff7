"""Commits a step of the layers that share an anchor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from persia_tf._keras import NO_AUTOCAST, keras
from persia_tf.cluster import Cluster
from persia_tf.layers.applying_optimizer import applies_scaled_gradients
from persia_tf.layers.layer_table import LayerTable
from persia_tf.layers.loss_scaling import LossScaling
from persia_tf.layers.replicas import after_all_workers
from persia_tf.layers.row_stepping import Reads, RowStepping
from persia_tf.ops import embedding


def add_anchor(
    layer: Any, loss_scaling: LossScaling, commit: Callable[[Any], tf.Tensor]
) -> Any:
    """Adds an anchor to a Keras layer: the variable whose steps commit rows.

    Args:
        layer: The layer.
        loss_scaling: The layer's part in loss scaling.
        commit: Called with the anchor after the optimizer has updated it: see
            `commit_rows`.
    """
    return layer.add_weight(
        name="anchor",
        shape=loss_scaling.anchor_shape,
        dtype="float32",
        initializer="zeros",
        trainable=True,
        constraint=_Committing(commit),
        **NO_AUTOCAST,
    )


class _Committing(keras.constraints.Constraint):
    """An anchor's constraint, which Keras calls once the optimizer updated the anchor.

    Most versions of Keras 3 refuse constraints of another class.

    Args:
        commit: Commits the step, and returns the anchor.
    """

    def __init__(self, commit: Callable[[Any], tf.Tensor]) -> None:
        self._commit = commit

    def __call__(self, anchor: Any) -> tf.Tensor:
        return self._commit(anchor)


def commit_rows(
    anchor: Any,
    rows: Sequence[tuple[RowStepping, LayerTable]],
    cluster: Cluster,
    loss_scaling: LossScaling,
    layer: str,
) -> tf.Tensor:
    """Commits the gradients that were staged for some tables in the current step.

    Keras calls the layer's anchor constraint, and so this function, after the optimizer
    has updated the anchor.

    Args:
        anchor: The anchor.
        rows: The tables of the layer, and what steps their rows.
        cluster: The cluster of all of the tables.
        loss_scaling: The layer's part in loss scaling.
        layer: The layer's name, for messages.

    Returns:
        The anchor, when the step is committed.
    """
    checks_before = []
    if applies_scaled_gradients(layer):
        checks_before.append(loss_scaling.require_known())
    reads = Reads()
    steps = [stepping.step(table, reads) for stepping, table in rows]
    with tf.control_dependencies(checks_before):
        committed = embedding.commit(
            tf.convert_to_tensor(anchor),
            _one_or_all([step.learning_rate for step in steps]),
            _one_or_all([step.number for step in steps]),
            [table.route for _, table in rows],
        )
    for step in steps:
        step.end(committed)
    if cluster.staleness == 0:
        # Wait for all workers, so that the next step's lookups see their updates.
        committed = after_all_workers(committed)
    return loss_scaling.restored(committed)


def _one_or_all(numbers: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns the one scalar that all numbers are, or a vector of the scalars."""
    if all(number is numbers[0] for number in numbers):
        return numbers[0]
    with tf.device("CPU:0"):
        return tf.stack(numbers)
