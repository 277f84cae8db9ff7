"""The interface by which a layer is divided among the workers of a group."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.owned import OwnedBy


class Splittable(abc.ABC):
    """How the members of a group compute a layer together.

    Register an instance for a class of layers with `ptf.parallel.register`. While a
    plan is applied, each of the layer's divided weights has the shape of this member's
    part, and `call` is called in place of the layer's own `call`.

    The result must be that of the whole layer for this member's examples. Then the
    gradients of divided weights are right too: exchanges pass gradients on to the
    member whose examples they came from.

    Example:

    ```python
    class DivideScale(ptf.parallel.Splittable):
        # Scale computes x * scale, with a scale for each feature.

        def axes(self, layer):
            return ["columns"]

        def divided_weights(self, layer, axis):
            return [(layer.scale, 0)]

        def call(self, layer, axis, exchange, x):
            return exchange.to_rows(exchange.to_columns(x) * layer.scale)


    ptf.parallel.register(Scale, DivideScale())
    ```
    """

    @abc.abstractmethod
    def axes(self, layer: Any) -> Sequence[str]:
        """Returns the names of the axes along which a layer can be divided.

        Args:
            layer: A layer that is built.

        Returns:
            Names such as "columns"; none if this layer cannot be divided.
        """

    @abc.abstractmethod
    def divided_weights(
        self, layer: Any, axis: str
    ) -> Sequence[tuple[Any, int | OwnedBy]]:
        """Returns the weights that are divided, each with the axis of its division.

        All members keep a copy of each of the other weights.

        Args:
            layer: A layer that is built.
            axis: One of `axes(layer)`.

        Returns:
            Pairs of a variable and the index of its axis, whose size must be a multiple
            of the number of members. Instead of an index, an `OwnedBy` gives one member
            the whole variable, and the others a variable of shape `(0,)`. All members
            must compute a gradient for it, so that it has the shape `(0,)` on these.
        """

    @abc.abstractmethod
    def call(
        self, layer: Any, axis: str, exchange: Exchange, *args: Any, **kwargs: Any
    ) -> Any:
        """Computes the layer together with the other members.

        Args:
            layer: The layer, whose divided weights have the shapes of this member's
                parts.
            axis: One of `axes(layer)`.
            exchange: Exchanges examples and features with the other members.
            *args: The arguments of the layer's `call`.
            **kwargs: The arguments of the layer's `call`.

        Returns:
            What the layer's `call` returns for this member's examples.
        """


_splittables: dict[type, Splittable] = {}
_by_name: dict[str, Splittable] = {}


def register(layer_class: type, splittable: Splittable) -> None:
    """Makes a class of layers one that plans can divide.

    Subclasses that override `call` are not included, since they compute something else.

    Args:
        layer_class: A class of Keras layers.
        splittable: How they are divided.

    Raises:
        TypeError: if the arguments are not a class and a `Splittable`.
    """
    if not isinstance(layer_class, type) or not isinstance(splittable, Splittable):
        raise TypeError(
            "`register` needs a class of layers and an instance of a subclass of "
            f"`Splittable`. Received: layer_class={layer_class!r}, "
            f"splittable={splittable!r}"
        )
    _splittables[layer_class] = splittable


def register_by_name(name: str, splittable: Splittable) -> None:
    """Registers a class of a package that need not be installed, and is not imported.

    Args:
        name: The name of the package and that of the class, such as "package.Layer", in
            whichever module of the package the class is.
        splittable: How its layers are divided.
    """
    _by_name[name] = splittable


def splittable_of(layer: Any) -> Splittable | None:
    """Returns how a layer is divided, or None if its class is not registered."""
    call: Callable[..., Any] | None = getattr(type(layer), "call", None)
    for known in type(layer).__mro__:
        splittable = _registered(known)
        if splittable is not None and known.call is call:  # type: ignore[attr-defined]
            return splittable
    return None


def _registered(layer_class: type) -> Splittable | None:
    package = layer_class.__module__.partition(".")[0]
    by_name = _by_name.get(f"{package}.{layer_class.__name__}")
    return _splittables.get(layer_class, by_name)
