"""A model whose layers are divided as a plan says."""

from __future__ import annotations

import contextlib
import functools
import os
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from persia_tf.parallel import encoding_state
from persia_tf.parallel.compression.encodings import Encoding
from persia_tf.parallel.divided_layer import DividedLayer
from persia_tf.parallel.divided_variable import DividedVariable, stored
from persia_tf.parallel.gradients import GradientSum
from persia_tf.parallel.layout import Layout
from persia_tf.parallel.limits import check_layers, check_optimizer, check_scaling
from persia_tf.parallel.loss_scaling import agree_on_steps
from persia_tf.parallel.slots import slots_of

# Methods of a model that read or write whole weights.
_WHOLE_METHODS = (
    "save export save_weights load_weights get_weights set_weights count_params summary"
).split()

_applied: weakref.WeakKeyDictionary[Any, AppliedPlan] = weakref.WeakKeyDictionary()


def whole(model: Any) -> contextlib.AbstractContextManager[None]:
    """Joins the divided layers of a model for the time of a `with` block.

    Within it, the model is as it would be without a plan, and so is its optimizer: use
    it to read or save them by other means than the methods of the model and
    `tf.train.Checkpoint`. All workers must enter and leave it.

    Example:

    ```python
    with ptf.parallel.whole(model):
        kernel = model.get_layer("wide_0").kernel.numpy()
    ```

    Args:
        model: Any Keras model. Without an applied plan, the block changes nothing.
    """
    applied = _applied.get(model)
    return contextlib.nullcontext() if applied is None else applied.whole()


def check_not_applied(model: Any) -> None:
    """Raises ValueError if a plan is applied to a model."""
    if model in _applied:
        raise ValueError(
            "a plan is already applied to this model: call `remove()` of what "
            f"`Plan.apply` returned before. Received: model={model.name}"
        )


class AppliedPlan:
    """The divided layers of a model, which are joined where the whole is needed.

    Args:
        model: A built and compiled model.
        layers: Its layers that are divided.
        layout: The workers that exchange something.
        gradients: How gradients are sent; None for as they are.

    Raises:
        ValueError: if the model's optimizer or a divided weight needs the whole weight.
    """

    def __init__(
        self,
        model: Any,
        layers: Sequence[DividedLayer],
        layout: Layout,
        gradients: Encoding | None = None,
    ) -> None:
        check_layers(layers)
        self._model = model
        self._layers = layers
        self._layout = layout
        self._encoding = gradients
        self._weights = [each for layer in layers for each in layer.variables]
        self._slots: list[DividedVariable] = []
        self._is_divided = False
        self._follow_optimizer()
        self._divide()
        for name in _WHOLE_METHODS:
            if hasattr(model, name):
                setattr(model, name, self._on_whole(getattr(model, name)))
        model.compile = self._compile
        _forget_functions(model)
        _applied[model] = self

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        """Joins the layers for the time of a `with` block. All workers must call it."""
        if not self._is_divided:
            yield
            return
        self._join()
        try:
            yield
        finally:
            self._divide()

    def save_state(self, folder: str | os.PathLike[str]) -> None:
        """Writes what this worker's encodings remember: errors and thresholds.

        All workers must call it, with a folder of their own or a common one. Without
        it, training goes on with no errors to make up for.

        Args:
            folder: Where each worker writes a file of its own.
        """
        encoding_state.save(folder, self._layout.workers.rank, self._state())

    def load_state(self, folder: str | os.PathLike[str]) -> None:
        """Reads what `save_state` wrote, once the model has taken a training step.

        Args:
            folder: As for `save_state`.

        Raises:
            ValueError: if the files are of another plan, another model or other
                workers.
        """
        encoding_state.load(folder, self._layout.workers.rank, self._state())

    def _state(self) -> dict[str, tf.Variable]:
        state = dict(self._summing.state)
        for layer in self._layers:
            state.update(layer.state)
        return state

    def remove(self) -> None:
        """Joins the layers for good. All workers must call it.

        A second call changes nothing.
        """
        if _applied.get(self._model) is not self:
            return
        for name in (*_WHOLE_METHODS, "compile"):
            self._model.__dict__.pop(name, None)
        self._uninstall()
        self._join()
        _forget_functions(self._model)
        del _applied[self._model]

    def _follow_optimizer(self) -> None:
        """Divides the compiled optimizer's variables too. The model must be whole."""
        optimizer = self._model.optimizer
        encoded = any(layer.is_encoded for layer in self._layers)
        check_scaling(optimizer, encoded or self._encoding is not None)
        if self._layers:
            check_optimizer(optimizer)
            self._slots = self._divided_slots()
        self._summing = GradientSum(
            [each.variable for each in self._weights],
            self._layout.workers,
            self._layout.peers,
            self._encoding,
        )
        undo = contextlib.ExitStack()
        undo.callback(self._summing.install(optimizer))
        undo.callback(agree_on_steps(optimizer, self._layout.workers))
        self._uninstall = undo.close

    def _compile(self, *args: Any, **kwargs: Any) -> None:
        with self.whole():
            self._uninstall()
            type(self._model).compile(self._model, *args, **kwargs)
            self._follow_optimizer()

    def _divide(self) -> None:
        for variable in (*self._weights, *self._slots):
            variable.divide()
        for layer in self._layers:
            layer.install()
        self._is_divided = True

    def _join(self) -> None:
        if not self._is_divided:
            return
        for layer in self._layers:
            layer.remove()
        for variable in (*self._weights, *self._slots):
            variable.join()
        self._is_divided = False

    def _on_whole(self, method: Any) -> Any:
        @functools.wraps(method)
        def on_whole(*args: Any, **kwargs: Any) -> Any:
            with self.whole():
                return method(*args, **kwargs)

        return on_whole

    def _divided_slots(self) -> list[DividedVariable]:
        """Returns the optimizer's variables that belong to divided weights."""
        by_weight = {id(stored(each.variable)): each for each in self._weights}
        divided = []
        for slot, weight in slots_of(self._model):
            of = by_weight.get(id(stored(weight)))
            if of is not None:
                divided.append(DividedVariable(slot, of.axis, of.members))
        return divided


def _forget_functions(model: Any) -> None:
    """Makes a model trace its steps anew, since they call its layers otherwise."""
    for name in ("train_function", "test_function", "predict_function"):
        setattr(model, name, None)
