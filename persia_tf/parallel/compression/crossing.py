"""The exchanges of activations between members, encoded, with their gradients.

What a member would send to itself does not cross a boundary, so it stays exact.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from persia_tf.parallel.compression.activations import ActivationCodec
from persia_tf.parallel.members import Members


def gathered(
    codec: ActivationCodec, members: Members, x: tf.Tensor, name: str
) -> tf.Tensor:
    """Gathers the members' pieces.

    Args:
        codec: A codec of one piece.
        members: The members that exchange pieces.
        x: `(1, count)`: this member's piece.
        name: The name of the exchange.

    Returns:
        `(members, count)`, of the same type.
    """
    return _crossed(codec, members.gather, members, x, name)


def exchanged(
    codec: ActivationCodec, members: Members, x: tf.Tensor, name: str
) -> tf.Tensor:
    """Sends each member its piece, and returns the pieces received.

    Args:
        codec: A codec of as many pieces as there are members.
        members: The members that exchange pieces.
        x: `(members, count)`: the piece for each member.
        name: The name of the exchange.

    Returns:
        `(members, count)`, of the same type: each member's piece for this one.
    """
    return _crossed(codec, members.exchange, members, x, name)


def _crossed(
    codec: ActivationCodec,
    send: Callable[[tf.Tensor, str], tf.Tensor],
    members: Members,
    x: tf.Tensor,
    name: str,
) -> tf.Tensor:
    pieces = x.shape[0]
    dtype = x.dtype
    rank = members.rank

    def backward(gradient: tf.Tensor) -> tf.Tensor:
        payload = codec.encode_gradient(gradient, received)
        payload = members.exchange(payload, f"{name}/gradient")
        gradients = codec.decode_gradient(payload, sent)
        gradients = _with_row(gradients, rank, gradient[rank])
        if pieces == 1:
            # Each member has a gradient of the piece that it gathered.
            gradients = tf.reduce_sum(gradients, axis=0, keepdims=True)
        return tf.cast(gradients, dtype)

    # Not within the custom gradient: TensorFlow wants a gradient for each variable that
    # is used there.
    payload, sent = codec.encode(tf.stop_gradient(x))
    decoded, received = codec.decode(send(payload, name))
    own = x[0 if pieces == 1 else rank]
    decoded = _with_row(decoded, rank, tf.stop_gradient(own))

    @tf.custom_gradient
    def pass_gradient(_: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        return tf.cast(decoded, dtype), backward

    return pass_gradient(x)


def _with_row(x: tf.Tensor, place: int, row: tf.Tensor) -> tf.Tensor:
    """Returns `(rows, count)` with another row at this place."""
    row = tf.cast(row, x.dtype)[tf.newaxis]
    return tf.concat([x[:place], row, x[place + 1 :]], axis=0)
