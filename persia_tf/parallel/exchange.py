"""The exchanges of a divided layer between the workers of a group.

A tensor of a divided layer is in one of two forms, if the group has g members:

- by rows: each member has its own b examples, with all c features: `(b, ..., c)`;
- by columns: each member has the examples of all members, with its own part of the
  features: `(g * b, ..., c / g)`.

Each method turns one form into the other, and its gradient turns it back. In training,
what is exchanged may be encoded.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from persia_tf.parallel.checked import checked
from persia_tf.parallel.compression.activations import ActivationCodec
from persia_tf.parallel.compression.crossing import exchanged, gathered
from persia_tf.parallel.members import Members


class Exchange:
    """The exchanges in one call of a layer.

    Members may have different numbers of examples. What they exchange has `capacity`
    examples each; the examples beyond a member's own are zeros, so they contribute
    nothing to gradients. The sizes of other axes must be equal on all members. Where
    the graph does not know them, `gather` and `to_columns` compare them.

    Args:
        members: The workers of the group.
        name: A name that no other layer's exchanges have.
        rows: int32 scalar: the size of the first axis on this worker.
        capacity: The greatest size of the first axis on any member: an int, or an int32
            scalar that is equal on all members.
        codecs: Returns how an exchange is encoded, by its name, the number of pieces
            that a member sends, the numbers in each, and the size of the last axis;
            None if it is not. Defaults to None: no exchange is encoded.
    """

    def __init__(
        self,
        members: Members,
        name: str,
        rows: tf.Tensor | int,
        capacity: tf.Tensor | int,
        codecs: Callable[[str, int, int, int], ActivationCodec | None] | None = None,
    ) -> None:
        self._members = members
        self._name = name
        self._rows = rows
        self._capacity = capacity
        self._codecs = codecs

    @property
    def size(self) -> int:
        """The number of members."""
        return self._members.size

    @property
    def rank(self) -> int:
        """This member's place among the members, from 0."""
        return self._members.rank

    @property
    def examples(self) -> tf.Tensor | int:
        """The number of examples of all members, with those that pad: g * b."""
        return self._capacity * self.size

    def gather(self, x: tf.Tensor) -> tf.Tensor:
        """Gathers the examples of all members, with all features.

        Args:
            x: `(b, ...)`.

        Returns:
            `(g * b, ...)`.
        """
        return self._gathered(self._padded(self._alike(x)))

    def sum_rows(self, x: tf.Tensor) -> tf.Tensor:
        """Adds up what the members computed, each for the examples of all members.

        Args:
            x: `(g * b, ...)`: this member's summand.

        Returns:
            `(b, ...)`: the sums for this member's examples.
        """
        return self._own(self._summed(x))

    def to_rows(self, x: tf.Tensor, axis: int = -1) -> tf.Tensor:
        """Turns a tensor by columns into one by rows.

        Args:
            x: `(g * b, ..., c / g, ...)`.
            axis: The axis of the features; not the first one.

        Returns:
            `(b, ..., c, ...)`.
        """
        return self._own(self._joined(x, _from_the_left(x, axis)))

    def to_columns(self, x: tf.Tensor, axis: int = -1) -> tf.Tensor:
        """Turns a tensor by rows into one by columns.

        Args:
            x: `(b, ..., c, ...)`; c must be a multiple of g.
            axis: The axis of the features; not the first one.

        Returns:
            `(g * b, ..., c / g, ...)`.
        """
        return self._split(self._padded(self._alike(x)), _from_the_left(x, axis))

    def _gathered(self, x: tf.Tensor) -> tf.Tensor:
        name = f"{self._name}/gather"
        codec = self._codec(name, x, pieces=1)
        if codec is not None:
            pieces = gathered(codec, self._members, tf.reshape(x, [1, -1]), name)
            return tf.reshape(pieces, [self.size * x.shape[0], *x.shape[1:]])

        def forward(x: tf.Tensor) -> tf.Tensor:
            return self._members.gather(x, name)

        return _with_gradient(forward, self._summed)(x)

    def _summed(self, x: tf.Tensor) -> tf.Tensor:
        name = f"{self._name}/sum"
        slices = self._by_member(x)
        if self._codec(name, slices, self.size) is not None:
            return tf.reduce_sum(self._exchanged(slices, name, fill=True), axis=0)

        def forward(x: tf.Tensor) -> tf.Tensor:
            return tf.reduce_sum(self._members.exchange(x, name), axis=0)

        def backward(gradient: tf.Tensor) -> tf.Tensor:
            return self._by_member(self._gathered(gradient))

        return _with_gradient(forward, backward)(slices)

    def _joined(self, x: tf.Tensor, axis: int) -> tf.Tensor:
        parts = self._exchanged(self._by_member(x), f"{self._name}/join", fill=True)
        # (g, b, ..., c / g, ...) -> (b, ..., g, c / g, ...) -> (b, ..., c, ...)
        return _merged(_moved(parts, 0, axis), axis)

    def _split(self, x: tf.Tensor, axis: int) -> tf.Tensor:
        parts = _moved(_divided(x, axis, self.size), axis, 0)
        # The pieces are of different examples: no one's own stand for the others'.
        return _merged(self._exchanged(parts, f"{self._name}/split", fill=False), 0)

    def _exchanged(self, slices: tf.Tensor, name: str, *, fill: bool) -> tf.Tensor:
        """Sends each member its slice; gradients go back the same way."""
        codec = self._codec(name, slices, self.size)
        if codec is not None:
            pieces = tf.reshape(slices, [self.size, -1])
            pieces = exchanged(codec, self._members, pieces, name, fill=fill)
            return tf.reshape(pieces, slices.shape)

        def forward(x: tf.Tensor) -> tf.Tensor:
            return self._members.exchange(x, name)

        def backward(gradient: tf.Tensor) -> tf.Tensor:
            return self._members.exchange(gradient, f"{name}/gradient")

        return _with_gradient(forward, backward)(slices)

    def _codec(self, name: str, x: tf.Tensor, pieces: int) -> ActivationCodec | None:
        known = x.shape.is_fully_defined() and x.dtype.is_floating
        if self._codecs is None or not known:
            return None
        count = x.shape.num_elements() // pieces
        return self._codecs(name, pieces, count, x.shape[-1])

    def _by_member(self, x: tf.Tensor) -> tf.Tensor:
        return _divided(x, 0, self.size)

    def _alike(self, x: tf.Tensor) -> tf.Tensor:
        """Fails on all members if they have examples of different sizes.

        Otherwise their exchanges would wait for each other.
        """
        if x.shape[1:].is_fully_defined():
            return x
        own = tf.shape(x)[1:]
        extremes = tf.concat([own, -own], axis=0)
        extremes = self._members.maximum(extremes, f"{self._name}/sizes")
        greatest, least = tf.unstack(tf.reshape(extremes, [2, -1]) * [[1], [-1]])
        message = (
            f"the layer {self._name} is divided, so in a step all workers of a group "
            "must have examples of the same sizes, for example sequences padded to the "
            "same length. Received examples of the sizes:"
        )
        told = [message, own, "with the least and greatest sizes:", least, greatest]
        return checked(x, tf.reduce_all(greatest == least), told)

    def _padded(self, x: tf.Tensor) -> tf.Tensor:
        if self._rows is self._capacity:
            return x
        missing = self._capacity - self._rows
        padded = tf.pad(x, [[0, missing]] + [[0, 0]] * (x.shape.rank - 1))
        if isinstance(self._capacity, int):
            padded = tf.ensure_shape(padded, [self._capacity, *x.shape[1:]])
        return padded

    def _own(self, x: tf.Tensor) -> tf.Tensor:
        return x if self._rows is self._capacity else x[: self._rows]


def _with_gradient(
    forward: Callable[[tf.Tensor], tf.Tensor],
    backward: Callable[[tf.Tensor], tf.Tensor],
) -> Callable[[tf.Tensor], tf.Tensor]:
    @tf.custom_gradient
    def exchanged(x: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        return forward(x), backward

    return exchanged


def _from_the_left(x: tf.Tensor, axis: int) -> int:
    return axis if axis >= 0 else x.shape.rank + axis


def _shape(x: tf.Tensor) -> list[tf.Tensor | int]:
    """Returns the size of each axis: an int where it is known."""
    dynamic = tf.shape(x)
    return [
        dynamic[i] if size is None else size for i, size in enumerate(x.shape.as_list())
    ]


def _divided(x: tf.Tensor, axis: int, parts: int) -> tf.Tensor:
    """Splits an axis in two, the first of which has `parts` elements."""
    shape = _shape(x)
    return tf.reshape(
        x, [*shape[:axis], parts, shape[axis] // parts, *shape[axis + 1 :]]
    )


def _merged(x: tf.Tensor, axis: int) -> tf.Tensor:
    """Merges an axis with the next one."""
    shape = _shape(x)
    return tf.reshape(
        x, [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]]
    )


def _moved(x: tf.Tensor, axis: int, to: int) -> tf.Tensor:
    order = list(range(x.shape.rank))
    order.insert(to, order.pop(axis))
    return tf.transpose(x, order)
