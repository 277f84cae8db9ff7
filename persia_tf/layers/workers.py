"""What the workers of a strategy do together, outside of training steps."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent import futures
from typing import Any

import tensorflow as tf

from persia_tf import errors
from persia_tf.layers.replicas import has_other_workers, strategy_of

# How often workers tell one another that they are there, at least: well below any
# `timeout_seconds` of use.
_ROUND_SECONDS = 1.0


class Workers:
    """The workers that train a model, of which this process is one.

    Args:
        strategy: The model's `tf.distribute.Strategy`, or None.
    """

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy if has_other_workers(strategy) else None
        self._sum: Any = None

    @classmethod
    def of(cls, model: Any) -> Workers:
        """Returns those that train a Keras model."""
        return cls(strategy_of(model))

    @property
    def has_others(self) -> bool:
        """Whether there is another worker."""
        return self._strategy is not None

    @property
    def is_chief(self) -> bool:
        """Whether this is the one worker that writes, also where there is no other."""
        return self._strategy is None or self._strategy.extended.should_checkpoint

    def together(self, action: Callable[[], None]) -> None:
        """Runs an action on all workers, and returns when all have.

        Every worker must call it, as often as the others do. The action may take as
        long as it takes; a worker that is gone is noticed within the strategy's
        `timeout_seconds`.

        Args:
            action: What this worker does, in a thread of its own if there are others.

        Raises:
            FailedPreconditionError: if it failed on another worker.
            Exception: what `action` raised.
        """
        if self._strategy is None:
            action()
            return
        with futures.ThreadPoolExecutor(1, "persia-together") as threads:
            running = threads.submit(contextvars.copy_context().run, action)
            try:
                failures = self._wait_for_all(running)
            finally:
                running.result()  # Where both fail, its error says more.
        if failures:
            raise errors.FailedPreconditionError(
                "another worker could not save or load, so this one must not go on: "
                "that worker's error says why"
            )

    def __deepcopy__(self, memo: Any) -> Workers:
        # A strategy cannot be copied, and a copied layer is under the same.
        return self

    def _wait_for_all(self, running: futures.Future[None]) -> float:
        """Returns on how many workers it failed."""
        while True:
            futures.wait([running], timeout=_ROUND_SECONDS)
            is_over = running.done()
            failed = is_over and running.exception() is not None
            # All get the same sums, so all leave in the same round.
            failures, unfinished = self._sum_of_all(float(failed), float(not is_over))
            if not unfinished:
                return failures

    def _sum_of_all(self, *values: float) -> list[float]:
        if self._sum is None:
            self._sum = tf.function(_summed)
        total = self._sum(self._strategy, tf.constant(values))
        return self._strategy.experimental_local_results(total)[0].numpy().tolist()


def _summed(strategy: Any, value: tf.Tensor) -> Any:
    def sum_of_replicas(value: tf.Tensor) -> tf.Tensor:
        here = tf.identity(value)  # On the replica's device, as all_reduce asks for.
        return tf.distribute.get_replica_context().all_reduce("SUM", here)

    return strategy.run(sum_of_replicas, args=(value,))
