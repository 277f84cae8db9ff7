"""Base classes of immutable objects, each fully described by its config."""

from __future__ import annotations

from typing import Any

from persia_tf.base.spec import format_spec


class Configured:
    """An immutable object. Objects with the same type and config are equal."""

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Configured:
        return cls(**config)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.get_config() == self.get_config()

    def __hash__(self) -> int:
        return hash((type(self), *sorted(self.get_config().items())))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in self.get_config().items())
        return f"{type(self).__name__}({arguments})"


class Policy(Configured):
    """Base of a table's policies for admission and eviction.

    A policy is the name of a rule, and the rule's parameters.

    Args:
        parameters: The rule's parameters, by name.
    """

    # The name by which the native core knows the rule. Each subclass sets it.
    rule = ""

    def __init__(self, **parameters: float) -> None:
        self._parameters = parameters

    def spec(self) -> str:
        """Returns the rule and its parameters in the text format of the native core."""
        if not self._parameters:
            return self.rule
        return format_spec(self.rule, self._parameters)

    def get_config(self) -> dict[str, Any]:
        return dict(self._parameters)
