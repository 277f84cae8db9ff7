"""A model whose layers are divided as a plan says."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from persia_tf.parallel.divided_layer import DividedLayer
from persia_tf.parallel.divided_variable import DividedVariable, stored
from persia_tf.parallel.gradients import GradientSum
from persia_tf.parallel.layout import Layout
from persia_tf.parallel.slots import slots_of

# Methods of a model that read or write whole weights.
_WHOLE_METHODS = (
    "save export save_weights load_weights get_weights set_weights count_params summary"
).split()


class AppliedPlan:
    """Divides the layers of a model, and joins them again where the whole is needed.

    Args:
        model: A built and compiled model.
        layers: Its layers that are divided.
        layout: The workers that exchange something.
    """

    def __init__(
        self, model: Any, layers: Sequence[DividedLayer], layout: Layout
    ) -> None:
        self._model = model
        self._layers = layers
        self._weights = [each for layer in layers for each in layer.variables]
        self._slots = self._divided_slots()
        self._divide()
        divided = [each.variable for each in self._weights]
        summing = GradientSum(divided, layout.workers, layout.peers)
        self._uninstall = summing.install(model.optimizer)
        self._replaced = [name for name in _WHOLE_METHODS if hasattr(model, name)]
        for name in self._replaced:
            setattr(model, name, self._on_whole(getattr(model, name)))

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        """Within the context, the model and its optimizer are whole. Collective."""
        if not self._is_divided:
            yield
            return
        self._join()
        try:
            yield
        finally:
            self._divide()

    def remove(self) -> None:
        """Joins all weights, and leaves the model as it was before. Collective."""
        for name in self._replaced:
            del self._model.__dict__[name]
        self._uninstall()
        self._join()

    def _divide(self) -> None:
        for variable in (*self._weights, *self._slots):
            variable.divide()
        for layer in self._layers:
            layer.install()
        self._is_divided = True

    def _join(self) -> None:
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
