"""What the workers of a strategy do together, outside of training steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf import errors
from persia_tf.layers.replicas import has_other_workers


class Workers:
    """The workers that train a model, of which this process is one.

    Args:
        strategy: The model's `tf.distribute.Strategy`, or None.
    """

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy if has_other_workers(strategy) else None
        self._sum: Any = None

    @property
    def is_chief(self) -> bool:
        """Whether this is the one worker that writes, also where there is no other."""
        return self._strategy is None or self._strategy.extended.should_checkpoint

    def together(self, action: Callable[[], None]) -> None:
        """Runs an action on all workers, and returns when all have.

        Every worker must call it, as often as the others do. It waits for as long as
        the strategy's `timeout_seconds` say.

        Args:
            action: What this worker does.

        Raises:
            FailedPreconditionError: if it failed on another worker.
            Exception: what `action` raised.
        """
        if self._strategy is None:
            action()
            return
        try:
            action()
        except Exception:
            self._count(1.0)
            raise
        if self._count(0.0):
            raise errors.FailedPreconditionError(
                "another worker could not save or load rows, so this one must not go "
                "on: that worker's error says why"
            )

    def __deepcopy__(self, memo: Any) -> Workers:
        # A strategy cannot be copied, and a copied layer is under the same.
        return self

    def _count(self, failures: float) -> float:
        """The sum of all workers' failures."""
        if self._sum is None:
            self._sum = tf.function(_summed)
        total = self._sum(self._strategy, tf.constant(failures))
        return float(self._strategy.experimental_local_results(total)[0])


def _summed(strategy: Any, value: tf.Tensor) -> Any:
    def sum_of_replicas(value: tf.Tensor) -> tf.Tensor:
        here = tf.identity(value)  # On the replica's device, as all_reduce asks for.
        return tf.distribute.get_replica_context().all_reduce("SUM", here)

    return strategy.run(sum_of_replicas, args=(value,))
