"""A layer of several towers, which the members of a group can share out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from persia_tf._keras import keras


@keras.saving.register_keras_serializable(package="persia_tf")
class Towers(keras.layers.Layer):
    """Several layers or models side by side, such as towers or a mixture's experts.

    A plan can divide this layer on the axis "towers": each member of a group then has
    some of the towers, and computes them for the examples of the whole group. Tower k
    belongs to member k % group_size. Other weights than the trainable ones, such as
    those of `BatchNormalization`, and regularizers prevent this.

    Example:

    ```python
    experts = ptf.parallel.Towers(
        [keras.layers.Dense(64, "relu", name=f"expert{i}") for i in range(8)]
    )
    outputs = experts(inputs)  # A list of 8 tensors.
    ```

    Call arguments:
        inputs: A list with the input of each tower, or one tensor, which all towers
            take.

    The layer returns a list with the output of each tower.

    Args:
        layers: The towers: Keras layers or models that take one tensor and return one.
            They must compute each example by itself.
        **kwargs: Arguments of `keras.layers.Layer`.

    Raises:
        ValueError: if there are no layers.
        TypeError: if one is no Keras layer.
    """

    def __init__(self, layers: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        layers = list(layers)
        if not layers:
            raise ValueError("`layers` must have at least one layer. Received: []")
        for each in layers:
            if not isinstance(each, keras.layers.Layer):
                raise TypeError(
                    f"`layers` must be Keras layers or models. Received: {each!r}"
                )
        self.towers = layers
        self.specs: tuple[tuple[Any, ...], tuple[Any, ...]] | None = None

    def call(self, inputs: Any, training: bool | None = None) -> list[Any]:
        each_input = self.inputs_of_each(inputs)
        # Keras passes `training` on to layers within.
        outputs = [tower(each) for tower, each in zip(self.towers, each_input)]
        self.specs = _specs(self.name, each_input), _specs(self.name, outputs)
        return outputs

    def inputs_of_each(self, inputs: Any) -> list[Any]:
        """Returns the input of each tower, given those of the layer's call."""
        if not isinstance(inputs, (list, tuple)):
            return [inputs] * len(self.towers)
        if len(inputs) != len(self.towers):
            raise ValueError(
                f"the layer '{self.name}' has {len(self.towers)} towers, so it takes "
                "one tensor or a list of as many. Received: a list of "
                f"{len(inputs)} tensors"
            )
        return list(inputs)

    def get_config(self) -> dict[str, Any]:
        towers = [keras.saving.serialize_keras_object(each) for each in self.towers]
        return {**super().get_config(), "layers": towers}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Towers:
        towers = [
            keras.saving.deserialize_keras_object(each) for each in config["layers"]
        ]
        return cls(**{**config, "layers": towers})


def _specs(layer: str, tensors: Sequence[Any]) -> tuple[tf.TensorSpec, ...]:
    """Returns the shape of one example, and the type, of each tensor."""
    for each in tensors:
        if not hasattr(each, "shape") or len(each.shape) == 0:
            raise TypeError(
                f"each tower of the layer '{layer}' must take one tensor of several "
                f"examples and return one. Received: {each!r}"
            )
    return tuple(
        tf.TensorSpec(tf.TensorShape(each.shape)[1:], each.dtype) for each in tensors
    )
