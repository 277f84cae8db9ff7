"""Encodes the activations that cross one boundary, and their gradients."""

from __future__ import annotations

import abc
from typing import Optional

import tensorflow as tf

from persia_tf.parallel.compression import entries, formats
from persia_tf.parallel.compression.encodings import Encoding, Threshold
from persia_tf.parallel.compression.rank_one import rank_one
from persia_tf.parallel.compression.selecting import Selector
from persia_tf.parallel.compression.warm_up import WarmUp

# The places of what a worker sent or received, where these are not all.
Places = Optional[tf.Tensor]


class ActivationCodec(abc.ABC):
    """Encodes pieces of activations for other workers, and decodes theirs.

    All tensors have a piece in each row. Payloads are int32. What is decoded is
    float32. What a worker sends, in `encode`, comes back to it as gradients, in
    `decode_gradient`; what it receives, in `decode`, it sends gradients of, by
    `encode_gradient`. Rounding has no gradient of its own: gradients pass through.
    """

    # Whether some numbers arrive as zeros.
    drops_numbers = False

    def begin(self) -> tf.Tensor | None:
        """Begins an exchange; returns whether it is exact: a bool scalar.

        None is returned if all exchanges are encoded.
        """
        return None

    def no_places(self, pieces: int) -> Places:
        """Returns the places that belong to exact pieces."""
        del pieces
        return None

    @property
    def state(self) -> dict[str, tf.Variable]:
        """The variables to save, by name."""
        return {}

    @abc.abstractmethod
    def encode(self, x: tf.Tensor) -> tuple[tf.Tensor, Places]:
        """Encodes this worker's pieces.

        Args:
            x: `(pieces, count)`, of any floating type.

        Returns:
            The payload, `(pieces, words)`; and what `decode_gradient` has to know.
        """

    @abc.abstractmethod
    def decode(self, payload: tf.Tensor) -> tuple[tf.Tensor, Places]:
        """Decodes pieces of any workers.

        Args:
            payload: `(any, words)`.

        Returns:
            `(any, count)`; and what `encode_gradient` has to know.
        """

    @abc.abstractmethod
    def encode_gradient(self, gradient: tf.Tensor, received: Places) -> tf.Tensor:
        """Encodes the gradients of the pieces that `decode` returned.

        Args:
            gradient: `(any, count)`.
            received: The second result of `decode`.

        Returns:
            `(any, words)`.
        """

    @abc.abstractmethod
    def decode_gradient(self, payload: tf.Tensor, sent: Places) -> tf.Tensor:
        """Decodes the gradients of the pieces that `encode` encoded.

        Args:
            payload: `(pieces, words)`; or `(any, words)` if there is one piece, which
                several workers received.
            sent: The second result of `encode`.

        Returns:
            `(pieces, count)`, or `(any, count)`.
        """


class _AllNumbers(ActivationCodec):
    def __init__(self, numbers: formats.Numbers, count: int) -> None:
        self._numbers = numbers
        self._count = count

    def encode(self, x: tf.Tensor) -> tuple[tf.Tensor, Places]:
        return self._numbers.encode(tf.cast(x, tf.float32)), None

    def decode(self, payload: tf.Tensor) -> tuple[tf.Tensor, Places]:
        return self._numbers.decode(payload, self._count), None

    def encode_gradient(self, gradient: tf.Tensor, received: Places) -> tf.Tensor:
        return self.encode(gradient)[0]

    def decode_gradient(self, payload: tf.Tensor, sent: Places) -> tf.Tensor:
        return self.decode(payload)[0]


class _LargeNumbers(ActivationCodec):
    """Sends large numbers; of gradients, the others as a product of rank one."""

    drops_numbers = True

    def __init__(
        self, encoding: Threshold, pieces: int, count: int, columns: int, name: str
    ) -> None:
        self._entries = entries.of(encoding, count)
        self._selector = Selector(encoding, pieces, count, self._entries.room, name)
        self._others = rank_one(self._entries.numbers, count, columns)
        self._warm_up = WarmUp(encoding.warmup, name)

    @property
    def state(self) -> dict[str, tf.Variable]:
        return {**self._selector.state, **self._warm_up.state}

    def begin(self) -> tf.Tensor | None:
        return self._warm_up.begin()

    def no_places(self, pieces: int) -> Places:
        return self._entries.no_places(pieces)

    def encode(self, x: tf.Tensor) -> tuple[tf.Tensor, Places]:
        x = tf.cast(x, tf.float32)
        places, _ = self._selector.select(x)
        return self._entries.encode(self._entries.pick(x, places), places), places

    def decode(self, payload: tf.Tensor) -> tuple[tf.Tensor, Places]:
        values, places = self._entries.decode(payload)
        return self._entries.spread(values, places), places

    def encode_gradient(self, gradient: tf.Tensor, received: Places) -> tf.Tensor:
        gradient = tf.cast(gradient, tf.float32)
        values = self._entries.encode_values(self._entries.pick(gradient, received))
        if self._others is None:
            return values
        others = tf.where(self._entries.has(received), 0.0, gradient)
        return tf.concat([values, self._others.encode(others)], axis=1)

    def decode_gradient(self, payload: tf.Tensor, sent: Places) -> tf.Tensor:
        value_words = self._entries.value_words
        values = self._entries.decode_values(payload[:, :value_words])
        places = tf.broadcast_to(sent, tf.shape(values))
        gradient = self._entries.spread(values, places)
        if self._others is None:
            return gradient
        others = self._others.decode(payload[:, value_words:])
        return tf.where(self._entries.has(places), gradient, others)


def activation_codec(
    encoding: Encoding, pieces: int, count: int, columns: int, name: str
) -> ActivationCodec:
    """Returns a codec of one boundary, that is, of one exchange in a call of a layer.

    Args:
        encoding: How numbers are sent.
        pieces: How many pieces this worker sends: one for each member, or 1 if all
            members receive the same.
        count: How many numbers a piece has.
        columns: The size of the last axis of a piece.
        name: The name of the codec's variables.
    """
    if isinstance(encoding, Threshold):
        return _LargeNumbers(encoding, pieces, count, columns, name)
    return _AllNumbers(formats.format_of(encoding), count)
