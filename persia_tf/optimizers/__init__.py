"""Optimizers of embedding rows.

They run where the rows live, on the rows that a step touches, with Keras's names,
defaults and arithmetic. By default they are lazy: a row that a step does not touch does
not change, and a rule counts the updates of the row, not the steps of the model.

In the formulas, `w` is a row's weights and `g` its gradient, summed over the step and
clipped; `*`, `/`, `**`, `sqrt` and `max` are element-wise. Computation and optimizer
state are in float32.
"""

from __future__ import annotations

from persia_tf.optimizers.adagrad import Adagrad, RowWiseAdagrad
from persia_tf.optimizers.adam import Adam, AdamW
from persia_tf.optimizers.ftrl import Ftrl
from persia_tf.optimizers.lamb import Lamb
from persia_tf.optimizers.optimizer import Optimizer
from persia_tf.optimizers.rmsprop import RMSprop
from persia_tf.optimizers.sgd import SGD

__all__ = [
    "Adagrad",
    "Adam",
    "AdamW",
    "Ftrl",
    "Lamb",
    "Optimizer",
    "RMSprop",
    "RowWiseAdagrad",
    "SGD",
    "get",
]

_CLASSES = (Adagrad, Adam, AdamW, Ftrl, Lamb, RMSprop, RowWiseAdagrad, SGD)
_BY_NAME = {cls.rule: cls for cls in _CLASSES}
_BY_ANY_NAME = {**_BY_NAME, **{cls.__name__.lower(): cls for cls in _CLASSES}}


def get(identifier: str | Optimizer) -> Optimizer:
    """Returns the optimizer that `identifier` names or is.

    Args:
        identifier: `"adagrad"`, `"adam"`, `"adamw"`, `"ftrl"`, `"lamb"`,
            `"rmsprop"`, `"rowwise_adagrad"`, `"sgd"`, or the name of a class, in
            upper or lower case; or a `persia_tf` optimizer.

    Returns:
        A `persia_tf.optimizers.Optimizer`.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str) and identifier.lower() in _BY_ANY_NAME:
        return _BY_ANY_NAME[identifier.lower()]()
    raise ValueError(
        "`optimizer` must be one of "
        f"{', '.join(repr(name) for name in sorted(_BY_NAME))} or an object of "
        "`persia_tf.optimizers` (Keras's own optimizers step the dense weights "
        f"only). Received: optimizer={identifier!r}"
    )
