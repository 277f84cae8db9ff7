"""Keeps a model as it is while it is trained for a moment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

# What `fit` sets. Not all of these are in both Keras 3 and tf_keras.
_TRACED = ("train_function", "train_tf_function")
_SET = (*_TRACED, "stop_training", "history")
_ABSENT = object()


@contextlib.contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """Lets a model be trained in a `with` block, after which it is as it was before.

    Its weights, metrics and functions are put back. Its optimizers are not touched, not
    even built: copies take their places meanwhile.

    Args:
        model: A Keras model that is compiled and built.

    Raises:
        ValueError: if an optimizer cannot be copied.
    """
    optimizers = _optimizers_of(model)
    copies = {name: _copied(each) for name, each in optimizers.items()}
    attributes = {name: getattr(model, name, _ABSENT) for name in _SET}
    weights = _values(model.variables)
    metrics = _values(_metric_variables(model))
    try:
        _set(model, copies)
        # What was traced before would look rows up.
        _set(model, {n: None for n in _TRACED if attributes[n] is not _ABSENT})
        yield
    finally:
        _set(model, {**optimizers, **attributes})
        for metric in model.metrics:
            metric.reset_state()  # Also those that were built meanwhile.
        for variable, value in (*weights, *metrics):
            variable.assign(value)


def _optimizers_of(model: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(model).items()
        if hasattr(type(value), "apply_gradients") and hasattr(value, "get_config")
    }


def _copied(optimizer: Any) -> Any:
    try:
        return type(optimizer).from_config(optimizer.get_config())
    except Exception as error:  # A class of the user may raise anything.
        raise ValueError(
            "`time=True` trains the model with a copy of its optimizer, which could "
            "not be made by its class's `from_config` from its `get_config()`: give "
            "`step_seconds` instead, or let the class support both. Received: the "
            f"optimizer {type(optimizer).__name__}, which raised: {error}"
        ) from error


def _metric_variables(model: Any) -> list[Any]:
    return [variable for metric in model.metrics for variable in metric.variables]


def _values(variables: list[Any]) -> list[tuple[Any, Any]]:
    return [(variable, variable.numpy()) for variable in variables]


def _set(model: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        if value is not _ABSENT:
            setattr(model, name, value)
        elif name in vars(model):
            delattr(model, name)
