"""Decides what replaces the regularizer of an `Embedding` that is converted."""

from __future__ import annotations

from typing import Any, NamedTuple

from persia_tf import optimizers
from persia_tf.layers.regularizers import Penalty, penalty_of

# The values that `convert` accepts for its argument `regularizers`.
LEAVE, DROP, WEIGHT_DECAY = CHOICES = ("leave", "drop", "weight_decay")


class Regularization(NamedTuple):
    """What replaces the regularizer of one layer.

    Attributes:
        reason: Why the layer is not converted; None if it is converted.
        weight_decay: The weight decay for the optimizer of the layer's rows; 0 leaves
            the optimizer unchanged.
        notes: What differs from the original layer, for the report.
    """

    reason: str | None = None
    weight_decay: float = 0.0
    notes: tuple[str, ...] = ()


class Regularizers:
    """Decides what replaces the regularizers of layers.

    Args:
        choice: One of `CHOICES`.
        optimizer: The optimizer of the rows of layers without a regularizer. With None,
            these rows follow the optimizer of the model.

    Raises:
        ValueError: if `choice` is `WEIGHT_DECAY` and `optimizer` is None, since the
            weight decay is added to the optimizer.
    """

    def __init__(self, choice: str, optimizer: optimizers.Optimizer | None) -> None:
        if choice == WEIGHT_DECAY and optimizer is None:
            raise ValueError(
                '`regularizers="weight_decay"` needs an `optimizer` for the rows, to '
                "which it adds the weight decay, such as "
                "optimizer=ptf.optimizers.Adagrad(0.05). "
                "Received: optimizer=None"
            )
        self._choice = choice
        self._optimizer = optimizer
        self._with_decay: dict[float, Any] = {0.0: optimizer}

    def of(self, layer: Any) -> Regularization:
        """Returns what replaces the regularizer of an `Embedding`."""
        regularizer = layer.embeddings_regularizer
        penalty = penalty_of(regularizer)
        if penalty == Penalty(0.0, 0.0):
            return Regularization()
        shown = type(regularizer).__name__ if penalty is None else _shown(penalty)
        if self._choice == DROP:
            return Regularization(notes=(f"without its regularizer, {shown}",))
        if self._choice == LEAVE:
            return Regularization(
                f"rows do not support its embeddings_regularizer, {shown}: give "
                'regularizers="weight_decay" or "drop" to convert it'
            )
        reason = self._why_no_decay(penalty, shown)
        if reason is not None:
            return Regularization(reason)
        decay = penalty.weight_decay
        return Regularization(
            weight_decay=decay,
            notes=(
                f"weight_decay={decay:g} replaces its {shown}, and applies only to "
                "the rows that a step touches",
            ),
        )

    def optimizer(self, weight_decay: float) -> optimizers.Optimizer | None:
        """Returns the row optimizer with a weight decay, one object for each value."""
        if weight_decay not in self._with_decay:
            config = {**self._optimizer.get_config(), "weight_decay": weight_decay}
            self._with_decay[weight_decay] = type(self._optimizer).from_config(config)
        return self._with_decay[weight_decay]

    def _why_no_decay(self, penalty: Penalty | None, shown: str) -> str | None:
        if penalty is None or penalty.l1:
            return f"weight decay can replace only l2, but its regularizer is {shown}"
        if isinstance(self._optimizer, optimizers.Ftrl):
            return (
                "Ftrl does not keep the effect of a weight decay, which therefore "
                f"cannot replace its regularizer, {shown}"
            )
        if self._optimizer.get_config()["weight_decay"]:
            return (
                f"the optimizer of its rows, {self._optimizer!r}, already has a weight "
                f"decay, so another cannot replace its regularizer, {shown}"
            )
        return None


def _shown(penalty: Penalty) -> str:
    terms = [f"{name}={value:g}" for name, value in penalty._asdict().items() if value]
    return ", ".join(terms)
