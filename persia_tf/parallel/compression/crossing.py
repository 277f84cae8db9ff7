"""The exchanges of activations between members, encoded, with their gradients.

What a member would send to itself does not cross a boundary, so it is not encoded.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from persia_tf.parallel.compression.activations import ActivationCodec, Places
from persia_tf.parallel.compression.filling import own_scale
from persia_tf.parallel.compression.warm_up import either
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
    return _crossed(codec, members.gather, members, x, name, fill=False)


def exchanged(
    codec: ActivationCodec, members: Members, x: tf.Tensor, name: str, *, fill: bool
) -> tf.Tensor:
    """Sends each member its piece, and returns the pieces received.

    Args:
        codec: A codec of as many pieces as there are members.
        members: The members that exchange pieces.
        x: `(members, count)`: the piece for each member.
        name: The name of the exchange.
        fill: Whether a member's piece for itself is scaled up for the numbers that did
            not arrive. This is right where the pieces are parts of the same examples.

    Returns:
        `(members, count)`, of the same type: each member's piece for this one.
    """
    fill = fill and codec.drops_numbers
    return _crossed(codec, members.exchange, members, x, name, fill)


def _crossed(
    codec: ActivationCodec,
    send: Callable[[tf.Tensor, str], tf.Tensor],
    members: Members,
    x: tf.Tensor,
    name: str,
    fill: bool,
) -> tf.Tensor:
    pieces = x.shape[0]
    dtype = x.dtype
    rank = members.rank
    own = tf.stop_gradient(x[0 if pieces == 1 else rank])

    def encoded() -> tuple[tf.Tensor, tf.Tensor, Places, Places]:
        payload, sent = codec.encode(tf.stop_gradient(x))
        decoded, received = codec.decode(send(payload, name))
        scale = own_scale(own, _without_row(decoded, rank)) if fill else tf.ones([])
        return decoded, scale, received, sent

    def exact() -> tuple[tf.Tensor, tf.Tensor, Places, Places]:
        decoded = tf.cast(send(tf.stop_gradient(x), f"{name}/exact"), tf.float32)
        received, sent = codec.no_places(members.size), codec.no_places(pieces)
        return decoded, tf.ones([]), received, sent

    def encoded_gradients(gradient: tf.Tensor) -> tf.Tensor:
        payload = codec.encode_gradient(gradient, received)
        payload = members.exchange(payload, f"{name}/gradient")
        return codec.decode_gradient(payload, sent)

    def exact_gradients(gradient: tf.Tensor) -> tf.Tensor:
        gradients = members.exchange(gradient, f"{name}/gradient/exact")
        return tf.cast(gradients, tf.float32)

    def backward(gradient: tf.Tensor) -> tf.Tensor:
        gradients = either(
            members,
            is_exact,
            lambda: exact_gradients(gradient),
            lambda: encoded_gradients(gradient),
        )
        gradients = _with_row(gradients, rank, own_part(gradient[rank]))
        if pieces == 1:
            # Each member has a gradient of the piece that it gathered.
            gradients = tf.reduce_sum(gradients, axis=0, keepdims=True)
        return tf.cast(gradients, dtype)

    # Not within the custom gradient: TensorFlow wants a gradient for each variable that
    # is used there.
    is_exact = codec.begin()
    decoded, scale, received, sent = either(members, is_exact, exact, encoded)

    def own_part(x: tf.Tensor) -> tf.Tensor:
        x = tf.cast(x, tf.float32)
        return x * scale if fill else x

    decoded = _with_row(decoded, rank, own_part(own))

    @tf.custom_gradient
    def pass_gradient(_: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        return tf.cast(decoded, dtype), backward

    return pass_gradient(x)


def _with_row(x: tf.Tensor, place: int, row: tf.Tensor) -> tf.Tensor:
    """Returns `(rows, count)` with another row at this place."""
    return tf.concat([x[:place], row[tf.newaxis], x[place + 1 :]], axis=0)


def _without_row(x: tf.Tensor, place: int) -> tf.Tensor:
    return tf.concat([x[:place], x[place + 1 :]], axis=0)
