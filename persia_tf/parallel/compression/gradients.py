"""Sums the gradients of one bucket over workers, encoded, with error feedback.

Each worker adds to its gradient what encoding has left out of its earlier gradients, so
that nothing is lost: at any time, the sums that all workers have received are the sums
of all gradients, less what the workers still hold back.

All workers compute the same sums, bit for bit, since they decode the same payloads and
add them up in the order of the workers.
"""

from __future__ import annotations

import abc

import tensorflow as tf

from persia_tf.parallel.compression import entries, formats, states
from persia_tf.parallel.compression.encodings import Encoding, Threshold
from persia_tf.parallel.compression.selecting import Selector
from persia_tf.parallel.compression.warm_up import WarmUp, either
from persia_tf.parallel.members import Members


class GradientCodec(abc.ABC):
    """Sums a flat gradient over workers.

    Gradients that are not finite arrive as such, so that a loss scaler, and the
    optimizer, see them. What is held back is always finite: at places where what is
    sent is not finite, it stays as it was.
    """

    @property
    @abc.abstractmethod
    def state(self) -> dict[str, tf.Variable]:
        """The variables to save, by name. Each worker has its own values."""

    @abc.abstractmethod
    def sum(self, gradient: tf.Tensor, members: Members, name: str) -> tf.Tensor:
        """Returns the sum over the workers. Collective.

        Args:
            gradient: `(count,)`, of any floating type.
            members: The workers.
            name: The name of the exchange.

        Returns:
            `(count,)`, of the gradient's type.
        """


class _AllNumbers(GradientCodec):
    """Each worker adds up a slice, and sends all workers the slice's sums.

    Both are encoded, with an error each. So a worker sends twice its gradient's size in
    all, as in an all-reduce, and not once to each worker.
    """

    def __init__(
        self, numbers: formats.Numbers, count: int, workers: int, name: str
    ) -> None:
        self._numbers = numbers
        self._count = count
        self._workers = workers
        self._slice = slice_of(count, workers)
        shape = [workers, self._slice]
        self._error = states.zeros(shape, tf.float32, f"{name}/error")
        self._sum_error = states.zeros(
            [1, self._slice], tf.float32, f"{name}/sum_error"
        )

    @property
    def state(self) -> dict[str, tf.Variable]:
        return {"error": self._error, "sum_error": self._sum_error}

    def sum(self, gradient: tf.Tensor, members: Members, name: str) -> tf.Tensor:
        payload = self._encode(self._slices(gradient), self._error)
        received = members.exchange(payload, f"{name}/slices")
        own = tf.reduce_sum(self._decode(received), axis=0, keepdims=True)
        payload = self._encode(own, self._sum_error)
        sums = self._decode(members.gather(payload, f"{name}/sums"))
        return tf.cast(tf.reshape(sums, [-1])[: self._count], gradient.dtype)

    def _encode(self, x: tf.Tensor, error: tf.Variable) -> tf.Tensor:
        before = error.read_value()
        total = x + before
        payload = self._numbers.encode(total)
        left = total - self._decode(payload)
        error.assign(tf.where(tf.math.is_finite(left), left, before))
        return payload

    def _decode(self, payload: tf.Tensor) -> tf.Tensor:
        return self._numbers.decode(payload, self._slice)

    def _slices(self, gradient: tf.Tensor) -> tf.Tensor:
        gradient = tf.cast(gradient, tf.float32)
        missing = self._workers * self._slice - self._count
        if missing:
            gradient = tf.pad(gradient, [[0, missing]])
        return tf.reshape(gradient, [self._workers, self._slice])


class _LargeNumbers(GradientCodec):
    """Each worker sends all workers its numbers of large magnitude."""

    def __init__(self, encoding: Threshold, count: int, name: str) -> None:
        self._entries = entries.of(encoding, count)
        self._selector = Selector(encoding, 1, count, self._entries.room, name)
        self._error = states.zeros([count], tf.float32, f"{name}/error")
        self._warm_up = WarmUp(encoding.warmup, name)

    @property
    def state(self) -> dict[str, tf.Variable]:
        return {
            "error": self._error,
            **self._selector.state,
            **self._warm_up.state,
        }

    def sum(self, gradient: tf.Tensor, members: Members, name: str) -> tf.Tensor:
        return either(
            members,
            self._warm_up.begin(),
            lambda: members.sum(gradient, f"{name}/exact"),
            lambda: self._sum_of_large(gradient, members, name),
        )

    def _sum_of_large(
        self, gradient: tf.Tensor, members: Members, name: str
    ) -> tf.Tensor:
        payload = members.gather(self._encode(gradient), f"{name}/entries")
        values, places = self._entries.decode(payload)
        total = self._entries.sum_rows(values, places)
        return tf.cast(total, gradient.dtype)

    def _encode(self, gradient: tf.Tensor) -> tf.Tensor:
        before = self._error.read_value()
        total = tf.cast(gradient, tf.float32) + before
        places, found = self._selector.select(total[tf.newaxis])
        values = self._entries.pick(total[tf.newaxis], places)
        payload = self._entries.encode_values(values)
        sent = self._entries.decode_values(payload)[0]
        # The numbers found beyond the room are not sent.
        beyond = tf.maximum(tf.size(found) - self._entries.room, 0)
        sent = tf.pad(sent, [[0, beyond]])[: tf.size(found)]
        left = tf.gather(total, found) - sent
        left = tf.where(tf.math.is_finite(left), left, tf.gather(before, found))
        self._error.assign(total)
        self._error.scatter_update(tf.IndexedSlices(left, found))
        return self._entries.encode_places(places, payload)


def gradient_codec(
    encoding: Encoding, count: int, workers: int, name: str
) -> GradientCodec:
    """Returns a codec of one bucket.

    Args:
        encoding: How numbers are sent.
        count: How many numbers the bucket has.
        workers: The number of workers.
        name: The name of the codec's variables.
    """
    if isinstance(encoding, Threshold):
        return _LargeNumbers(encoding, count, name)
    return _AllNumbers(formats.format_of(encoding), count, workers, name)


def slice_of(count: int, workers: int) -> int:
    """Returns how many of `count` numbers each worker adds up."""
    return -(-count // workers)
