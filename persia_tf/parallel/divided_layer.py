"""A layer that the members of a group compute together."""

from __future__ import annotations

import inspect
from typing import Any

import tensorflow as tf

from persia_tf.layers.training_mode import is_training
from persia_tf.parallel.checked import checked
from persia_tf.parallel.compression.activations import (
    ActivationCodec,
    activation_codec,
)
from persia_tf.parallel.compression.encodings import Encoding
from persia_tf.parallel.divided_variable import DividedVariable
from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.first_tensor import first_tensor
from persia_tf.parallel.members import Members
from persia_tf.parallel.regularization import RegularizationLoss
from persia_tf.parallel.splitting.splittable import Splittable


class DividedLayer:
    """Divides a layer's weights, and replaces its `call`.

    Args:
        name: The layer's name in the plan.
        layer: The layer.
        axis: The axis along which it is divided.
        splittable: How it is divided.
        members: The workers of the group.
        capacity: The greatest size of the first axis of the layer's input in training.
        encoding: How activations are exchanged in training; None for as they are.
    """

    def __init__(
        self,
        name: str,
        layer: Any,
        axis: str,
        splittable: Splittable,
        members: Members,
        capacity: int,
        encoding: Encoding | None = None,
    ) -> None:
        self.layer = layer
        self.name = name
        self._axis = axis
        self._splittable = splittable
        self._members = members
        self._capacity = capacity
        self._encoding = encoding
        self._codecs: dict[tuple[str, int, int, int], ActivationCodec] = {}
        self._signature = inspect.signature(layer.call)
        self.variables = [
            DividedVariable(variable, weight_axis, members)
            for variable, weight_axis in splittable.divided_weights(layer, axis)
        ]
        self._regularization = RegularizationLoss(
            name, layer, [each.variable for each in self.variables], members.size
        )

    @property
    def is_encoded(self) -> bool:
        """Whether activations are encoded in training."""
        return self._encoding is not None

    def install(self) -> None:
        """Makes the layer compute its part. Its variables must be divided."""
        self.layer.call = self._call

    def remove(self) -> None:
        """Makes the layer compute by itself again."""
        del self.layer.__dict__["call"]

    @tf.autograph.experimental.do_not_convert
    def _call(self, *args: Any, **kwargs: Any) -> Any:
        self._regularization.add()
        exchange = self._exchange(args, kwargs)
        return self._splittable.call(self.layer, self._axis, exchange, *args, **kwargs)

    def _exchange(self, args: Any, kwargs: Any) -> Exchange:
        rows = tf.shape(first_tensor(self._signature, args, kwargs))[0]
        if not is_training(kwargs.get("training")):
            capacity = self._members.maximum(rows, f"{self.name}/rows")
            return Exchange(self._members, self.name, rows, capacity)
        codecs = None if self._encoding is None else self._codec
        rows = self._checked(rows)
        return Exchange(self._members, self.name, rows, self._capacity, codecs)

    def _codec(
        self, name: str, pieces: int, count: int, columns: int
    ) -> ActivationCodec:
        key = (name, pieces, count, columns)
        if key not in self._codecs:
            self._codecs[key] = activation_codec(
                self._encoding, *key[1:], _name_of_codec(*key)
            )
        return self._codecs[key]

    @property
    def state(self) -> dict[str, tf.Variable]:
        """The variables of the encoding of this worker, by name."""
        return {
            f"{_name_of_codec(*key)}/{part}": variable
            for key, codec in self._codecs.items()
            for part, variable in codec.state.items()
        }

    def _checked(self, rows: tf.Tensor) -> tf.Tensor:
        message = (
            f"the plan allows {self._capacity} examples on each worker at the layer "
            f"{self.name}: make the plan with the `batch_size` of training, that of "
            "all workers together. Received examples:"
        )
        return checked(rows, rows <= self._capacity, [message, rows])


def _name_of_codec(name: str, pieces: int, count: int, columns: int) -> str:
    return f"{name}/{pieces}x{count // columns}x{columns}"
