"""Coordinates the workers of a strategy outside of training steps."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent import futures
from typing import Any

import tensorflow as tf

from persia_tf import errors
from persia_tf.layers.replicas import has_other_workers, strategy_of

# The longest time between two exchanges among waiting workers. It is well below any
# practical `timeout_seconds`.
_ROUND_SECONDS = 1.0


class Workers:
    """The workers that train a model, including this process.

    Args:
        strategy: The model's `tf.distribute.Strategy`, or None.
    """

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy if has_other_workers(strategy) else None
        self._sum: Any = None

    @classmethod
    def of(cls, model: Any) -> Workers:
        """Returns the workers that train a Keras model."""
        return cls(strategy_of(model))

    @property
    def has_others(self) -> bool:
        """Whether there is another worker."""
        return self._strategy is not None

    @property
    def is_chief(self) -> bool:
        """Whether this worker writes files: the chief, or the only worker."""
        return self._strategy is None or self._strategy.extended.should_checkpoint

    def together(self, action: Callable[[], None]) -> None:
        """Runs an action on all workers, and returns when all of them have finished.

        Every worker must call it the same number of times. The action may take any
        time; a worker that is gone is noticed within the strategy's `timeout_seconds`.

        Args:
            action: The action of this worker. It runs in another thread if there are
                other workers.

        Raises:
            FailedPreconditionError: if the action failed on another worker.
            Exception: any exception that `action` raised here.
        """
        if self._strategy is None:
            action()
            return
        with futures.ThreadPoolExecutor(1, "persia-together") as threads:
            running = threads.submit(contextvars.copy_context().run, action)
            try:
                failures = self._wait_for_all(running)
            finally:
                running.result()  # If both failed, the action's error says more.
        if failures:
            raise errors.FailedPreconditionError(
                "another worker could not save or load, so this one must not go on: "
                "that worker's error says why"
            )

    def __deepcopy__(self, memo: Any) -> Workers:
        # A strategy cannot be copied; a copy of a layer has the same strategy.
        return self

    def _wait_for_all(self, running: futures.Future[None]) -> float:
        """Waits for the action on all workers; returns on how many it failed."""
        while True:
            futures.wait([running], timeout=_ROUND_SECONDS)
            is_over = running.done()
            failed = is_over and running.exception() is not None
            # All workers get the same sums, so all leave the loop in the same round.
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
        here = tf.identity(value)  # all_reduce needs it on the replica's device.
        return tf.distribute.get_replica_context().all_reduce("SUM", here)

    return strategy.run(sum_of_replicas, args=(value,))
