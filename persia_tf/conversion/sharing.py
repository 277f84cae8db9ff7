"""Decides which converted layers share one lookup, as one `PersiaEmbeddings`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from persia_tf._keras import keras
from persia_tf.conversion.calls import calls_of, inputs_of, layer_of, outputs_of
from persia_tf.conversion.plan import Plan, is_model_of_layers

# In tf_keras, these layers add losses and metrics of symbolic tensors to a model. They
# lead to no output of the model, so a model of the same inputs and outputs lacks them.
_LOSSES_AND_METRICS = ("AddLoss", "AddMetric")


class SharedLookup:
    """Decides which converted layers share one lookup, and why the others do not.

    Args:
        model: A Functional or Sequential Keras model.
        plan: Decides which layers of the model are converted.

    Attributes:
        model: The model.
        nodes: The calls of the layers that share a lookup: at least two, or none.
    """

    def __init__(self, model: Any, plan: Plan) -> None:
        self.model = model
        self._why_alone: dict[int, str] = {}
        is_sequential = isinstance(model, keras.Sequential)
        self._calls = [] if is_sequential else calls_of(model)
        layers = self._keep(plan.converted, self._why_unfit(plan))
        layers = self._keep(layers, _why_unlike(layers))
        layers = self._keep(layers, self._why_behind(layers))
        if len(layers) == 1:
            reason = "no other Embedding can share its lookup"
            layers = self._keep(layers, lambda layer: reason)
        self._layers = {id(layer) for layer in layers}
        self.nodes = [node for node in self._calls if self.has(layer_of(node))]

    def has(self, layer: Any) -> bool:
        """Returns whether the layer is one of those that share a lookup."""
        return id(layer) in self._layers

    def why_alone(self, layer: Any) -> str:
        """Returns why a converted layer does not share the lookup."""
        return self._why_alone[id(layer)]

    def _keep(
        self, layers: list[Any], why_alone: Callable[[Any], str | None]
    ) -> list[Any]:
        """Returns the layers with no reason against them, and notes other reasons."""
        reasons = {id(layer): why_alone(layer) for layer in layers}
        self._why_alone.update({key: why for key, why in reasons.items() if why})
        return [layer for layer in layers if not reasons[id(layer)]]

    def _why_unfit(self, plan: Plan) -> Callable[[Any], str | None]:
        """Returns a function of a layer that asks about that layer alone."""
        called = Counter(id(layer_of(node)) for node in self._calls)
        nested = [layer for layer in self.model.layers if is_model_of_layers(layer)]
        called.update(id(each) for layer in nested for each in layer._flatten_layers())
        own = {id(layer) for layer in self.model.layers}
        kinds = {type(layer_of(node)).__name__ for node in self._calls}

        def why(layer: Any) -> str | None:
            if id(layer) not in own:
                return "it is in a nested model"
            if not self._calls:
                return "the model is Sequential"
            if kinds.intersection(_LOSSES_AND_METRICS):
                return "the model has an `add_loss` or `add_metric`"
            if called[id(layer)] > 1:
                return "it is called more than once"
            if layer.activity_regularizer is not None:
                return "it has an activity_regularizer"
            if not plan.takes_integers(layer):
                return "its ids are floats"
            return None

        return why

    def _why_behind(self, layers: list[Any]) -> Callable[[Any], str | None]:
        """Returns a function of a layer that asks whether another one comes first."""
        sharing = {id(layer) for layer in layers}
        behind: set[int] = set()
        # The tensors, by `id`, that depend on the vectors of a layer in `sharing`.
        vectors: set[int] = set()
        for node in self._calls:
            layer = id(layer_of(node))
            is_behind = any(id(tensor) in vectors for tensor in inputs_of(node))
            if is_behind:
                behind.add(layer)
            if is_behind or layer in sharing:
                vectors.update(map(id, outputs_of(node)))
        reason = "its ids depend on the vectors of another Embedding"
        return lambda layer: reason if id(layer) in behind else None


def _why_unlike(layers: list[Any]) -> Callable[[Any], str | None]:
    """Returns a function of a layer that asks whether it has what most layers have."""
    kinds = Counter(map(_kind, layers))
    kind = max(kinds, key=kinds.__getitem__, default=None)
    reason = "most others have another dtype or `trainable`"
    return lambda layer: None if _kind(layer) == kind else reason


def _kind(layer: Any) -> tuple[str, bool]:
    """Returns the arguments that the features of a `PersiaEmbeddings` share."""
    return str(layer.get_config()["dtype"]), layer.trainable
