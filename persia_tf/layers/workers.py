"""Coordinates the workers of a strategy outside of training steps."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent import futures
from typing import Any

import tensorflow as tf

from persia_tf import errors
from persia_tf.layers.gathering import gathered
from persia_tf.layers.replicas import (
    has_other_workers,
    local_replicas,
    strategy_of,
)

# Waiting workers exchange their states at least this often. The interval is well below
# any practical `timeout_seconds` of a strategy.
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
        """Whether this worker writes files, as the chief or as the only worker."""
        return self._strategy is None or self._strategy.extended.should_checkpoint

    @property
    def count(self) -> int:
        """How many workers there are."""
        if self._strategy is None:
            return 1
        return self._strategy.num_replicas_in_sync // local_replicas(self._strategy)

    @property
    def index(self) -> int:
        """The number of this worker among all workers; that of the chief is 0."""
        if self._strategy is None:
            return 0
        replicas = tf.function(_replicas)(self._strategy)
        first = self._strategy.experimental_local_results(replicas)[0]
        return int(first) // local_replicas(self._strategy)

    def gathered(self, contents: bytes) -> list[bytes]:
        """Returns the bytes of each worker, in the order of `index`.

        All workers must call this method the same number of times. If a worker is gone,
        the others notice within the strategy's `timeout_seconds`.

        Args:
            contents: The bytes of this worker.
        """
        if self._strategy is None:
            return [contents]
        return gathered(self._strategy, contents)[:: local_replicas(self._strategy)]

    def together(self, action: Callable[[], None]) -> None:
        """Runs an action on all workers, and returns when all of them have finished.

        All workers must call this method the same number of times. The action may take
        any time; if a worker is gone, the others notice within the strategy's
        `timeout_seconds`.

        Args:
            action: The action of this worker. It runs in another thread if there are
                other workers.

        Raises:
            FailedPreconditionError: if the action failed on another worker.
            Exception: any exception that `action` raised on this worker.
        """
        if self._strategy is None:
            action()
            return
        with futures.ThreadPoolExecutor(1, "persia-together") as threads:
            running = threads.submit(contextvars.copy_context().run, action)
            try:
                failures = self._wait_for_all(running)
            finally:
                # Raise the action's error, which says more than an error of the wait.
                running.result()
        if failures:
            raise errors.FailedPreconditionError(
                "another worker failed to save or load, so this worker stops too: see "
                "that worker's error for the reason"
            )

    def __deepcopy__(self, memo: Any) -> Workers:
        # A strategy cannot be copied; a copy of a layer has the same strategy.
        return self

    def _wait_for_all(self, running: futures.Future[None]) -> float:
        """Waits until all workers have finished; returns how many of them failed."""
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


def _replicas(strategy: Any) -> Any:
    def number() -> tf.Tensor:
        return tf.identity(tf.distribute.get_replica_context().replica_id_in_sync_group)

    return strategy.run(number)


def _summed(strategy: Any, value: tf.Tensor) -> Any:
    def sum_of_replicas(value: tf.Tensor) -> tf.Tensor:
        here = tf.identity(value)  # all_reduce needs a copy on the replica's device.
        return tf.distribute.get_replica_context().all_reduce("SUM", here)

    return strategy.run(sum_of_replicas, args=(value,))
