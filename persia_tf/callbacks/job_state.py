"""What a training program has besides rows: weights, optimizer, metrics, randomness."""

from __future__ import annotations

import io
import json
import random
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from persia_tf import errors
from persia_tf._keras import IS_KERAS_3
from persia_tf.callbacks import local_values
from persia_tf.layers.replicas import strategy_of

_FACTS = "facts"
_KINDS = ("weights", "optimizer", "metrics")


class JobState(NamedTuple):
    """The state of a program at a step.

    Attributes:
        arrays: The values of variables and generators, by name.
        facts: What JSON holds: the names of the variables, and where the program is.
    """

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]

    def to_bytes(self) -> bytes:
        """Returns the state as the bytes of a NumPy archive."""
        file = io.BytesIO()
        np.savez(file, **self.arrays, **{_FACTS: np.array(json.dumps(self.facts))})
        return file.getvalue()

    @classmethod
    def from_bytes(cls, contents: bytes) -> JobState:
        """Returns the state of which `to_bytes` made bytes.

        Raises:
            NotFoundError: if there are no bytes.
        """
        if not contents:
            raise errors.NotFoundError(
                "the checkpoint holds rows only: it was not saved by a `JobCheckpoint`"
            )
        with np.load(io.BytesIO(contents), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return cls(arrays, json.loads(str(arrays.pop(_FACTS))))


def captured(model: Any, facts: dict[str, Any]) -> JobState:
    """Returns the state of a program.

    Args:
        model: The compiled model.
        facts: What else to save.
    """
    _build_optimizer(model)
    state = JobState({}, {**facts, "names": {}})
    for kind in _KINDS:
        variables = _variables(model, kind)
        state.facts["names"][kind] = [_name(each) for each in variables]
        for number, variable in enumerate(variables):
            value = local_values.value_of(model, variable)
            state.arrays[f"{kind}/{number}"] = value
    _capture_randomness(state)
    return state


def put_back(model: Any, state: JobState) -> None:
    """Gives a model and its optimizer, and Python's and NumPy's randomness, a state.

    Raises:
        InvalidArgumentError: if the state is that of another model or optimizer.
    """
    _build_optimizer(model)
    for kind in ("weights", "optimizer"):
        for variable, value in _matched(kind, model, state):
            local_values.assign(model, variable, value)
    _put_back_randomness(state)


def add_to_metrics(model: Any, state: JobState) -> None:
    """Adds what metrics had counted, once the first step has made them.

    The variables of Keras's metrics are sums over examples.
    """
    for variable, value in _matched("metrics", model, state):
        local_values.add(model, variable, value)


def _matched(kind: str, model: Any, state: JobState) -> list[tuple[Any, np.ndarray]]:
    """Returns the pairs of a variable and its saved value.

    Raises:
        InvalidArgumentError: if the state is that of another model.
    """
    saved = state.facts["names"][kind]
    values = [state.arrays[f"{kind}/{number}"] for number in range(len(saved))]
    variables = _variables(model, kind)
    own = [(_name(each), tuple(each.shape)) for each in variables]
    if [shape for _, shape in own] != [each.shape for each in values]:
        raise errors.InvalidArgumentError(
            f"the checkpoint has other {kind} than the model: restore it to a model "
            "that was made and compiled as when it was saved. Checkpoint: "
            f"{[(name, each.shape) for name, each in zip(saved, values)]}; model: {own}"
        )
    return list(zip(variables, values))


def _build_optimizer(model: Any) -> None:
    """Makes the optimizer's variables, which it would make in the first step."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and not getattr(optimizer, "built", False):
        strategy = strategy_of(model) or tf.distribute.get_strategy()
        with strategy.scope():
            optimizer.build(model.trainable_variables)


def _variables(model: Any, kind: str) -> list[Any]:
    metrics = [each for metric in model.metrics for each in metric.variables]
    if kind == "metrics":
        return metrics
    if kind == "optimizer":
        optimizer = getattr(model, "optimizer", None)
        found = getattr(optimizer, "variables", ())
        return list(found() if callable(found) else found)
    left_out = {id(each) for each in metrics}
    kept = [each for each in model.variables if id(each) not in left_out]
    return kept + _states_of_generators(model)


def _states_of_generators(model: Any) -> list[Any]:
    """Returns the random states of tf_keras's layers, which are no weights."""
    if IS_KERAS_3:
        return []
    layers = model._flatten_layers()
    owners = [getattr(each, "_random_generator", None) for each in layers]
    generators = [getattr(owner, "_generator", None) for owner in owners]
    return [each.state for each in generators if each is not None]


def _name(variable: Any) -> str:
    return getattr(variable, "path", None) or variable.name


def _capture_randomness(state: JobState) -> None:
    kind, keys, *numbers = np.random.get_state()  # noqa: NPY002
    state.arrays["numpy"] = keys
    state.facts["numpy"] = [kind, *numbers]
    state.facts["python"] = random.getstate()


def _put_back_randomness(state: JobState) -> None:
    kind, *numbers = state.facts["numpy"]
    np.random.set_state((kind, state.arrays["numpy"], *numbers))  # noqa: NPY002
    version, keys, gauss = state.facts["python"]
    random.setstate((version, tuple(keys), gauss))
