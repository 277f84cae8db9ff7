"""Refuses arguments of `keras.layers.Embedding` that `PersiaEmbedding` does not have.

Users who replace Keras's layer may still pass such arguments; the error says what to
write instead.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from persia_tf.base import checks
from persia_tf.layers import regularizers

_NO_VOCABULARY = (
    "the layer needs no vocabulary size, since it takes any 64-bit id, and training "
    "creates a row when it first looks an id up. Write {name}({output_dim})"
)

# The advice in the error for each argument. For `input_dim` and
# `embeddings_regularizer`, the functions below compose the advice from the values.
_REMEDIES: Mapping[str, str] = {
    "input_length": "ids may have any shape. Leave it out",
    "embeddings_constraint": (
        "a constraint would read all rows at each step. Bound the weights of the rows "
        "that a step touches by the row optimizer: optimizer="
        "persia_tf.optimizers.Adagrad(0.05, weight_bound=1.0) keeps each within "
        "[-1, 1], and clipnorm= bounds a row's gradient"
    ),
    "weights": (
        'set rows once the layer is built, by persia_tf.Table("its table").assign('
        "ids, matrix), or choose an embeddings_initializer"
    ),
    "sparse": "gradients always cover only the rows that a step used. Leave it out",
    "lora_rank": "rows have no LoRA weights. Leave it out",
    "lora_alpha": "rows have no LoRA weights. Leave it out",
    "quantization_config": 'give row_dtype="int8" to store one byte per weight',
}


def checked(init: Callable[..., None]) -> Callable[..., None]:
    """Wraps a layer's constructor so that it refuses arguments of Keras's `Embedding`.

    An argument whose value has no effect, such as None, `sparse=False` or
    `embeddings_regularizer=L2(0.0)`, is accepted and dropped.

    Args:
        init: The `__init__`, whose only positional argument is `output_dim`.

    Returns:
        An `__init__` that raises TypeError for a refused argument; the message says
        what to write instead.
    """

    @functools.wraps(init)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        _refuse_positions(name, args)
        init(self, *args, **_without_foreign(name, kwargs, args))

    # Keras 3 does not follow `__wrapped__` to find the signature, so set it here.
    wrapped.__signature__ = inspect.signature(init)
    return wrapped


def _refuse_positions(name: str, args: tuple[Any, ...]) -> None:
    if len(args) <= 1:
        return
    received = f"Received: {name}({', '.join(map(repr, args))})"
    if checks.is_integer(args[0]) and checks.is_integer(args[1]):
        remedy = _NO_VOCABULARY.format(name=name, output_dim=args[1])
        raise TypeError(
            f"{name} takes `output_dim` and no `input_dim`: {remedy}. {received}"
        )
    output_dim = next((each for each in args if checks.is_integer(each)), 16)
    table = next((each for each in args if isinstance(each, str)), "user")
    raise TypeError(
        f"{name} takes only `output_dim` by position. Name the other arguments, as in "
        f'{name}({output_dim}, table="{table}"). {received}'
    )


def _without_foreign(
    name: str, kwargs: dict[str, Any], args: tuple[Any, ...]
) -> dict[str, Any]:
    own = dict(kwargs)
    if own.get("input_dim") is not None:
        output_dim = repr(args[0] if args else own.get("output_dim", "output_dim"))
        remedy = _NO_VOCABULARY.format(name=name, output_dim=output_dim.strip("'"))
        raise _refusal(name, "input_dim", remedy, own["input_dim"])
    if not regularizers.does_nothing(own.get("embeddings_regularizer")):
        given = own["embeddings_regularizer"]
        raise _refusal(name, "embeddings_regularizer", _decay_for(given), given)
    for argument, remedy in _REMEDIES.items():
        value = own.pop(argument, None)
        if value is not None and value is not False:
            raise _refusal(name, argument, remedy, value)
    for argument in ("input_dim", "embeddings_regularizer"):
        own.pop(argument, None)
    return own


def _decay_for(regularizer: Any) -> str:
    general = (
        "a penalty would read all rows at each step. Give the row optimizer a "
        "decoupled `weight_decay`, which shrinks the rows that a step touches"
    )
    penalty = regularizers.penalty_of(regularizer)
    if penalty is None or not penalty.l2:
        return (
            f"{general}: optimizer=persia_tf.optimizers.Adagrad(0.05, weight_decay=d)"
        )
    decay = penalty.weight_decay
    return (
        f"{general}: optimizer=persia_tf.optimizers.Adagrad(0.05, "
        f"weight_decay={decay:g}). It is 2 * l2, since the gradient of "
        f"{penalty.l2:g} * sum(w**2) is {decay:g} * w. With SGD both give the same "
        "steps; other optimizers would scale that gradient, but not the decay"
    )


def _refusal(name: str, argument: str, remedy: str, value: Any) -> TypeError:
    return TypeError(
        f"{name} has no argument `{argument}`: {remedy}. "
        f"Received: {argument}={checks.shown(value)}"
    )
