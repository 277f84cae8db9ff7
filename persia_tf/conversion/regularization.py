"""What becomes of the regularizer of an `Embedding` that is converted."""

from __future__ import annotations

from typing import Any, NamedTuple

from persia_tf import optimizers
from persia_tf.regularizers import Penalty, penalty_of

# Of `convert(regularizers=)`.
LEAVE, DROP, WEIGHT_DECAY = CHOICES = ("leave", "drop", "weight_decay")


class Regularization(NamedTuple):
    """What stands for the regularizer of one layer.

    Attributes:
        reason: Why the layer is left as it is; None if it is converted.
        weight_decay: Of the layer's row optimizer; 0: as it is.
        notes: What is not as it was, for the report.
    """

    reason: str | None = None
    weight_decay: float = 0.0
    notes: tuple[str, ...] = ()


class Regularizers:
    """Says what becomes of regularizers.

    Args:
        choice: One of `CHOICES`.
        optimizer: What steps the rows of layers without one; None: they follow the
            optimizer that steps the model.

    Raises:
        ValueError: for `WEIGHT_DECAY` without an optimizer, which would have it.
    """

    def __init__(self, choice: str, optimizer: optimizers.Optimizer | None) -> None:
        if choice == WEIGHT_DECAY and optimizer is None:
            raise ValueError(
                '`regularizers="weight_decay"` needs an `optimizer` for the rows, '
                "which gets the weight decay, such as "
                "optimizer=ptf.optimizers.Adagrad(0.05). "
                "Received: optimizer=None"
            )
        self._choice = choice
        self._optimizer = optimizer
        self._with_decay: dict[float, Any] = {0.0: optimizer}

    def of(self, layer: Any) -> Regularization:
        """Returns what becomes of the regularizer of an `Embedding`."""
        regularizer = layer.embeddings_regularizer
        penalty = penalty_of(regularizer)
        if penalty == Penalty(0.0, 0.0):
            return Regularization()
        shown = type(regularizer).__name__ if penalty is None else _shown(penalty)
        if self._choice == DROP:
            return Regularization(notes=(f"without its regularizer, {shown}",))
        if self._choice == LEAVE:
            return Regularization(
                f"rows have no embeddings_regularizer, here {shown}: "
                'regularizers="weight_decay" or "drop" would convert it'
            )
        reason = self._why_no_decay(penalty, shown)
        if reason is not None:
            return Regularization(reason)
        decay = penalty.weight_decay
        return Regularization(
            weight_decay=decay,
            notes=(
                f"weight_decay={decay:g} stands for its {shown}, on the rows that a "
                "step touches alone",
            ),
        )

    def optimizer(self, weight_decay: float) -> optimizers.Optimizer | None:
        """Returns the row optimizer with a weight decay, one object for each decay."""
        if weight_decay not in self._with_decay:
            config = {**self._optimizer.get_config(), "weight_decay": weight_decay}
            self._with_decay[weight_decay] = type(self._optimizer).from_config(config)
        return self._with_decay[weight_decay]

    def _why_no_decay(self, penalty: Penalty | None, shown: str) -> str | None:
        if penalty is None or penalty.l1:
            return f"a weight decay stands for l2 alone, and its regularizer is {shown}"
        if isinstance(self._optimizer, optimizers.Ftrl):
            return f"no weight decay lasts with Ftrl, and its regularizer is {shown}"
        if self._optimizer.get_config()["weight_decay"]:
            return (
                f"its rows have one weight decay, that of {self._optimizer!r}, and its "
                f"regularizer is {shown}"
            )
        return None


def _shown(penalty: Penalty) -> str:
    terms = [f"{name}={value:g}" for name, value in penalty._asdict().items() if value]
    return ", ".join(terms)
