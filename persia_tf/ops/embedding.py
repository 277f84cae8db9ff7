"""Differentiable lookup of embedding rows; staging and commit of their gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from persia_tf.ops import load, recording
from persia_tf.ops.bags import NO_BAGS, Bags
from persia_tf.ops.gradients import custom_gradient
from persia_tf.ops.loss_scale import LossScale
from persia_tf.ops.placement import on_host
from persia_tf.ops.redirection import redirection
from persia_tf.ops.route import Route
from persia_tf.ops.stand_in import session_of


@dataclasses.dataclass(frozen=True)
class Lookup:
    """What one layer looks up.

    Attributes:
        ids: int64, of any shape, or of rank 1 if the bags have splits. Duplicates are
            looked up once. If lookups are redirected, there must be no bags.
        route: The session and table to use.
        bags: How rows are pooled. The server that sends the rows pools them if that
            transfers less, otherwise this process does.
    """

    ids: tf.Tensor
    route: Route
    bags: Bags = NO_BAGS

    @property
    def static_shape(self) -> tf.TensorShape:
        """The static shape of the vectors."""
        return self.bags.static_shape(self.ids, self.route.dim)


def lookup(
    lookups: Sequence[Lookup],
    anchor: tf.Tensor,
    training: bool,
    trainable: bool = True,
    replica: int = 0,
    loss_scale: LossScale | None = None,
    joins: bool = False,
) -> list[tf.Tensor]:
    """Looks rows up; in training, their gradients are staged for `commit`.

    Args:
        lookups: What the layers that share the anchor look up. They use one session.
        anchor: The value of the anchor: it orders the step's ops, and makes TensorFlow
            compute gradients.
        training: Whether the model is called for training.
        trainable: Whether training creates absent rows and may push gradients.
        replica: The index of this replica of the layers within this process.
        loss_scale: Determines the loss scale and divides gradients by it. None:
            gradients are staged unchanged.
        joins: Whether the vectors of all lookups become one tensor, side by side in
            the last axis. Their shapes must then be the same but for that axis.

    Returns:
        A tensor per lookup, float32, `ids.shape + (route.dim,)`; with bags,
        `ids.shape[:-1] + (route.dim,)`, or `(bags, route.dim)` if the bags have splits.
        If joined, a list of one tensor.
    """
    if recording.recorder() is not None:
        return _join([_record(each, training, trainable) for each in lookups], joins)
    answer = redirection()
    if answer is not None:
        return _join([answer(each.route, each.ids) for each in lookups], joins)

    if not (training and trainable):
        loss_scale = None
    session = session_of(lookups[0].route.session)
    layers = [each.route.layer for each in lookups]
    dims = [each.route.dim for each in lookups]
    outputs = 1 if joins else len(lookups)

    @custom_gradient
    def looked_up(anchor: tf.Tensor) -> tuple[Any, Any]:
        handle = load.ops().persia_issue(
            ids=[each.ids for each in lookups],
            splits=[each.bags.splits_input for each in lookups],
            anchor=anchor,
            session=session,
            layers=layers,
            tables=[each.route.table for each in lookups],
            combiners=[each.bags.combiner for each in lookups],
            dims=dims,
            absents=[each.route.absent.kind for each in lookups],
            replica=replica,
            training=training and trainable,
            model_training=training,
        )
        rows, tickets = load.ops().persia_rows(
            lookup=handle,
            likes=[each.bags.like(each.ids) for each in lookups],
            M=outputs,
            dims=dims,
            pooled=[each.bags.pool_last_axis for each in lookups],
        )
        # Set the static shapes here: TensorFlow's C API for shape inference cannot read
        # the attribute `dims`.
        for each, tensor in zip(lookups, rows):
            tensor.set_shape(
                each.static_shape[:-1].concatenate(
                    sum(dims) if joins else each.route.dim
                )
            )
        tickets.set_shape((len(lookups),))

        def stage(gradients: Sequence[tf.Tensor]) -> tf.Tensor:
            staged = load.ops().persia_stage(
                tickets=tickets,
                gradients=gradients,
                anchor=anchor,
                session=session,
                layers=layers,
                dims=dims,
            )
            staged.set_shape(anchor.shape)
            return staged

        def gradient(*upstream: tf.Tensor) -> tf.Tensor:
            with on_host():
                return stage([tf.convert_to_tensor(each) for each in upstream])

        def scaled_gradient(*upstream: tf.Tensor | None) -> tf.Tensor:
            *of_rows, of_zero = upstream
            with on_host():
                gradients, overflow = loss_scale.unscale(
                    [tf.convert_to_tensor(each) for each in of_rows], of_zero
                )
                return stage(gradients) + overflow

        if loss_scale is None:
            return rows, gradient
        return [*rows, tf.zeros(())], scaled_gradient

    # The scope is outside of `looked_up`, to include the ops that TensorFlow adds
    # around a function with a custom gradient.
    with on_host():
        found = list(looked_up(anchor))
    if loss_scale is not None:
        loss_scale.watch(found.pop())
    return found


def _record(lookup: Lookup, training: bool, trainable: bool) -> tf.Tensor:
    recording.recorder().add(lookup.ids, lookup.bags, lookup.route, training, trainable)
    return tf.zeros(lookup.bags.dynamic_shape(lookup.ids, lookup.route.dim))


def _join(vectors: list[tf.Tensor], joins: bool) -> list[tf.Tensor]:
    return [tf.concat(vectors, axis=-1)] if joins else vectors


def commit(
    anchor: tf.Tensor,
    learning_rates: tf.Tensor,
    steps: tf.Tensor,
    routes: Sequence[Route],
) -> tf.Tensor:
    """Turns the layers' staged gradients into an update, and returns `anchor`.

    Args:
        anchor: The layers' anchor.
        learning_rates: The learning rates of this update: float32, a scalar for all
            layers, or one per layer.
        steps: The number of the model's step, from 1, or 0 if the row optimizer does
            not need it: int64, a scalar for all layers, or one per layer.
        routes: The layers' routes, in one session.

    Returns:
        `anchor`, as soon as the push queue has room for the update.
    """
    with on_host():
        passed = load.ops().persia_commit(
            anchor=anchor,
            learning_rates=learning_rates,
            steps=steps,
            session=session_of(routes[0].session),
            layers=[route.layer for route in routes],
        )
    passed.set_shape(anchor.shape)
    return passed
