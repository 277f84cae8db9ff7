"""Which variables of an optimizer belong to which variable of the model."""

from __future__ import annotations

from typing import Any

from persia_tf._keras import IS_KERAS_3
from persia_tf.parallel.gradients import inner_optimizer

_REFERENCE = "reference_variable" if IS_KERAS_3 else "model_variable"


def slots_of(model: Any) -> list[tuple[Any, Any]]:
    """Returns the optimizer's variables, each with the weight that it belongs to.

    Builds the optimizer if it is not built.

    Args:
        model: A compiled model.

    Returns:
        Pairs of a variable of the optimizer and a weight of the same shape. Variables
        that belong to no single weight, such as the count of steps, are not included.
    """
    optimizer = inner_optimizer(model.optimizer)
    weights = model.trainable_variables
    if not _is_built(optimizer):
        return _recorded(optimizer, weights)
    # Another optimizer with the same settings creates its variables in the same order.
    twin = type(optimizer).from_config(optimizer.get_config())
    of_twin = {id(slot): weight for slot, weight in _recorded(twin, weights)}
    pairs = zip(_variables_of(optimizer), _variables_of(twin))
    return [(own, of_twin[id(its)]) for own, its in pairs if id(its) in of_twin]


def _recorded(optimizer: Any, weights: list[Any]) -> list[tuple[Any, Any]]:
    """Builds an optimizer, and returns its variables with their weights."""
    recorded = []
    add = optimizer.add_variable_from_reference

    def record(*args: Any, **kwargs: Any) -> Any:
        slot = add(*args, **kwargs)
        recorded.append((slot, args[0] if args else kwargs[_REFERENCE]))
        return slot

    optimizer.add_variable_from_reference = record
    try:
        optimizer.build(weights)
    finally:
        del optimizer.__dict__["add_variable_from_reference"]
    return [(slot, weight) for slot, weight in recorded if slot.shape == weight.shape]


def _is_built(optimizer: Any) -> bool:
    return optimizer.built if IS_KERAS_3 else bool(getattr(optimizer, "_built", False))


def _variables_of(optimizer: Any) -> list[Any]:
    variables = optimizer.variables
    return list(variables() if callable(variables) else variables)
