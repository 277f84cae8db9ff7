"""Which layers compute with their weights as they are."""

from __future__ import annotations

from typing import Any

from persia_tf._keras import IS_KERAS_3


def is_plain(layer: Any) -> bool:
    """Returns whether a layer computes with its weights, and with no others.

    It does not if it is quantized, or if it has LoRA.

    Args:
        layer: A layer without layers within.
    """
    quantized = getattr(layer, "quantization_mode", None)
    return not quantized and not getattr(layer, "lora_enabled", False)


def can_be_within(layer: Any) -> bool:
    """Returns whether a layer can have divided weights within a divided layer.

    It cannot if it adds a loss for what it returns, since that belongs to the examples
    of the whole group. Regularization losses of weights are found by the weights, in
    tf_keras only by the attributes of the divided layer itself.

    Args:
        layer: A layer without layers within.
    """
    if getattr(layer, "activity_regularizer", None) is not None:
        return False
    return is_plain(layer) and (IS_KERAS_3 or not _has_weight_regularizer(layer))


def _has_weight_regularizer(layer: Any) -> bool:
    # tf_keras has a list of regularizers too, which stays empty.
    return any(
        name.endswith("_regularizer") and value is not None and value != []
        for name, value in vars(layer).items()
    )
