"""Sums the gradients of a step over the workers that have the same weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from absl import logging

from persia_tf._keras import IS_KERAS_3
from persia_tf.parallel.compression.encodings import Encoding
from persia_tf.parallel.compression.gradients import GradientCodec, gradient_codec
from persia_tf.parallel.compression.sizes import gradient_bytes
from persia_tf.parallel.divided_variable import stored
from persia_tf.parallel.members import Members
from persia_tf.parallel.paced_sums import PacedSums

# Small gradients share an exchange up to this size. A bucket is sent as soon as its
# gradients are computed, while the gradients of earlier layers are not.
BUCKET_BYTES = 4 << 20
# Smaller buckets are sent as they are: their time is that of a message.
_LEAST_ENCODED = 4096

Pairs = list[tuple[Any, Any]]

# The method by which an optimizer sums the gradients of the replicas.
_SUMMING = "_all_reduce_sum_gradients" if IS_KERAS_3 else "aggregate_gradients"


def inner_optimizer(optimizer: Any) -> Any:
    """Returns the optimizer that a loss scaler wraps, or the optimizer itself."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def keep_gradients(optimizer: Any) -> None:
    """Makes an optimizer apply gradients as they are, with no other worker."""
    setattr(optimizer, _SUMMING, list)


class GradientSum:
    """Sums each gradient over all workers, or over a member's peers.

    A weight that all workers have in whole needs the sum over all workers. A part of a
    divided weight needs the sum over the groups, of the members that have this part: a
    member's gradient is already that of the examples of its whole group.

    Args:
        divided: The divided variables.
        workers: All workers.
        peers: The workers of all groups that have the same parts as this one.
        encoding: How gradients are sent; None for as they are.
    """

    def __init__(
        self,
        divided: Sequence[Any],
        workers: Members,
        peers: Members,
        encoding: Encoding | None = None,
    ) -> None:
        self._divided = {id(stored(variable)) for variable in divided}
        self._workers = workers
        self._peers = peers
        self._encoding = encoding
        self._codecs: dict[str, GradientCodec] = {}

    @property
    def state(self) -> dict[str, tf.Variable]:
        """The variables of the encoding of this worker, by name."""
        return {
            f"{name}/{part}": variable
            for name, codec in self._codecs.items()
            for part, variable in codec.state.items()
        }

    def install(self, optimizer: Any) -> Callable[[], None]:
        """Makes a Keras optimizer sum gradients by this object.

        Args:
            optimizer: The optimizer, of either Keras.

        Returns:
            A function that undoes it.
        """
        optimizer = inner_optimizer(optimizer)
        setattr(optimizer, _SUMMING, self)
        return lambda: delattr(optimizer, _SUMMING)

    @tf.autograph.experimental.do_not_convert
    def __call__(self, grads_and_vars: Any) -> Pairs:
        """Returns the pairs of a gradient and its variable, with summed gradients.

        Called by the optimizer in each replica. Gradients that are None stay so.
        """
        pairs = list(grads_and_vars)
        summed = [gradient for gradient, _ in pairs]
        by_all, by_peers, sparse = [], [], []
        for place, (gradient, variable) in enumerate(pairs):
            if gradient is None:
                continue
            if id(stored(variable)) in self._divided:
                summed[place] = tf.convert_to_tensor(gradient)
                by_peers.append(place)
            elif isinstance(gradient, tf.IndexedSlices):
                sparse.append(place)
            else:
                by_all.append(place)
        for name, members, places in (
            ("all", self._workers, by_all),
            ("peers", self._peers, by_peers),
        ):
            if members.size == 1:
                continue
            sums = PacedSums(members)
            for i, bucket in enumerate(_buckets(places, summed)):
                self._sum_bucket(f"gradients/{name}/{i}", sums, bucket, summed)
        _sum_sparse(sparse, summed)
        if self._encoding is not None and not self._codecs:
            logging.warning(
                "No gradients are encoded, though the plan says %s: workers sum none, "
                "or fewer than %d numbers at once.",
                self._encoding,
                _LEAST_ENCODED,
            )
        return [(each, variable) for each, (_, variable) in zip(summed, pairs)]

    def _sum_bucket(
        self, name: str, sums: PacedSums, bucket: list[int], gradients: list[Any]
    ) -> None:
        members = sums.members
        flat = [tf.reshape(gradients[place], [-1]) for place in bucket]
        sizes = [each.shape.num_elements() for each in flat]
        joined = tf.concat(flat, axis=0) if len(flat) > 1 else flat[0]
        codec = self._codec(f"{name}/{sum(sizes)}", sum(sizes), members.size)
        if codec is None:
            total = sums.sum(joined, name)
        else:
            total = codec.sum(joined, members, name)
        for place, part in zip(bucket, tf.split(total, sizes)):
            gradients[place] = tf.reshape(part, gradients[place].shape)

    def _codec(self, name: str, count: int, workers: int) -> GradientCodec | None:
        encoding = self._encoding
        if encoding is None or count < _LEAST_ENCODED:
            return None
        if gradient_bytes(encoding, count, workers) >= gradient_bytes(
            None, count, workers
        ):
            return None
        if name not in self._codecs:
            self._codecs[name] = gradient_codec(encoding, count, workers, name)
        return self._codecs[name]


def _buckets(places: Sequence[int], gradients: Sequence[Any]) -> list[list[int]]:
    """Groups gradients, the last ones first, since they are computed first."""
    buckets: list[list[int]] = []
    filled = 0
    for place in reversed(places):
        gradient = gradients[place]
        size = gradient.shape.num_elements() * gradient.dtype.size
        if not size:
            continue
        joins = buckets and gradients[buckets[-1][0]].dtype == gradient.dtype
        if joins and filled + size <= BUCKET_BYTES:
            buckets[-1].append(place)
            filled += size
        else:
            buckets.append([place])
            filled = size
    return buckets


def _sum_sparse(places: Sequence[int], gradients: list[Any]) -> None:
    """Sums gradients that name the rows they have values for, as the strategy does."""
    if not places:
        return
    replica = tf.distribute.get_replica_context()
    summed = replica.all_reduce("SUM", [gradients[place] for place in places])
    for place, each in zip(places, summed):
        gradients[place] = each
