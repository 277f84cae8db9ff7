"""Which activations act on each feature by itself."""

from __future__ import annotations

from typing import Any

from persia_tf._keras import keras

_NAMES = (
    "celu elu exponential gelu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh "
    "leaky_relu linear log_sigmoid mish relu relu6 selu sigmoid silu soft_shrink "
    "softplus softsign sparse_plus squareplus swish tanh tanh_shrink threshold"
).split()


def is_elementwise(activation: Any) -> bool:
    """Returns whether an activation can be computed for some features alone.

    It is then applied to a member's features before they are exchanged, otherwise to
    all features after the exchange.
    """
    known = (getattr(keras.activations, name, None) for name in _NAMES)
    return activation is None or any(activation is each for each in known)
