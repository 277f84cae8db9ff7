"""Optimizers of embedding rows.

Row optimizers run where the rows are stored, and have Keras's names, defaults and
arithmetic. By default they are lazy: a step changes only the rows that it touches, and
the step number in a row's formulas is the number of updates of that row, not the number
of steps of the model.

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
    """Returns a row optimizer, which may be given by its name.

    Args:
        identifier: A `persia_tf` optimizer, which is returned as it is; or a name, in
            upper or lower case: `"adagrad"`, `"adam"`, `"adamw"`, `"ftrl"`, `"lamb"`,
            `"rmsprop"`, `"rowwise_adagrad"`, `"sgd"`, or the name of a class.

    Returns:
        A `persia_tf.optimizers.Optimizer`.

    Raises:
        ValueError: if `identifier` is neither such a name nor such an optimizer.
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
