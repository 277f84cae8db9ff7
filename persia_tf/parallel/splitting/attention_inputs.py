"""What `keras.layers.MultiHeadAttention` takes, for the examples of a whole group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.parallel.exchange import Exchange

_TENSORS = ("query", "value", "key")
# Keras 3 passes masks as arguments, tf_keras only as attributes of tensors.
_MASKS = ("query_mask", "value_mask", "key_mask")


class AttentionInputs:
    """Gathers the inputs of a call from all members.

    Args:
        layer: The layer.
        exchange: Exchanges with the other members.
        arguments: The arguments of its `call` for this member's examples, by their
            names. They are replaced by those for the examples of all members.
    """

    def __init__(
        self, layer: Any, exchange: Exchange, arguments: dict[str, Any]
    ) -> None:
        self._layer = layer
        self._exchange = exchange
        self._gathered: dict[int, tuple[Any, Any]] = {}
        query = arguments["query"]
        self._rows = tf.shape(query)[0]
        self.query_mask = getattr(query, "_keras_mask", None)
        for names, gather in ((_TENSORS, self._tensor), (_MASKS, self._mask)):
            for name in names:
                if arguments.get(name) is not None:
                    arguments[name] = self._once(gather, arguments[name])
        if arguments.get("attention_mask") is not None:
            rank = query.shape.rank
            mask = tf.convert_to_tensor(arguments["attention_mask"])
            arguments["attention_mask"] = self._attention_mask(mask, rank)

    def clear_masks(self) -> None:
        """Clears masks of the member's own tensors if the layer did so, as Keras 3."""
        for own, gathered in self._gathered.values():
            if getattr(own, "_keras_mask", None) is not None:
                if gathered._keras_mask is None:
                    own._keras_mask = None

    def _once(self, gather: Callable[[Any], Any], own: Any) -> Any:
        """Gathers a tensor only once, although it has several uses."""
        if id(own) not in self._gathered:
            self._gathered[id(own)] = (own, gather(own))
        return self._gathered[id(own)][1]

    def _tensor(self, own: Any) -> tf.Tensor:
        if isinstance(own, tf.RaggedTensor):
            raise TypeError(
                f"the layer '{self._layer.name}' is divided, so its inputs must be "
                f"dense tensors. Received: {own!r}"
            )
        gathered = self._exchange.gather(tf.convert_to_tensor(own))
        mask = getattr(own, "_keras_mask", None)
        gathered._keras_mask = None if mask is None else self._once(self._mask, mask)
        return gathered

    def _mask(self, mask: Any) -> tf.Tensor:
        return tf.equal(self._exchange.gather(_hidden(mask)), 0)

    def _attention_mask(self, mask: tf.Tensor, query_rank: int) -> tf.Tensor:
        attended = len(self._layer._attention_axes)
        if mask.shape.rank <= 2 * attended:
            mask = mask[tf.newaxis]
        # An axis of examples may have size 1 for all of this member's.
        mask = tf.broadcast_to(mask, tf.concat([[self._rows], tf.shape(mask)[1:]], 0))
        has_heads = mask.shape.rank == query_rank + attended
        heads_axis = -2 * attended - 1
        if has_heads and mask.shape[heads_axis] != 1:
            return tf.equal(self._exchange.to_columns(_hidden(mask), heads_axis), 0)
        return self._mask(mask)


def _hidden(mask: Any) -> tf.Tensor:
    """Returns 1 where a mask is False, since collectives have no booleans.

    Then the zeros that pad examples hide nothing: some implementations of attention
    return NaN if all keys are hidden.
    """
    return tf.cast(tf.logical_not(tf.cast(mask, tf.bool)), tf.int32)
