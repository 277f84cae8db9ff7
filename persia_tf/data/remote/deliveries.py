"""Takes what data workers deliver, in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

# How many batches wait between the thread and the program. tf.data service has others
# under way.
_WAITING = 4
_POLL_SECONDS = 0.1


class Delivery(NamedTuple):
    """A batch that a data worker read.

    Attributes:
        batch: Its number in the epoch.
        process: The number of the process that read it.
        tensors: The tensors of the dataset's element.
    """

    batch: int
    process: int
    tensors: Sequence[tf.Tensor]


class End(NamedTuple):
    """There are no more deliveries.

    Attributes:
        error: Why, or None if all batches were read.
    """

    error: Exception | None


class Deliveries:
    """The deliveries of a dataset of data workers.

    Args:
        dataset: Returns the dataset, whose elements are a batch's number, that of the
            process, and tensors. It may block, and so may the dataset, even for ever.
    """

    def __init__(self, dataset: Callable[[], tf.data.Dataset]) -> None:
        self._dataset = dataset
        self._queue: queue.Queue[Any] = queue.Queue(_WAITING)
        self._is_closed = threading.Event()
        # TensorFlow cannot end a thread that waits for a worker that is gone; a daemon
        # does not keep the program from ending.
        threading.Thread(target=self._run, name="persia_data", daemon=True).start()

    def take(self, seconds: float) -> Delivery | End | None:
        """Returns the next delivery; None if there is none in time."""
        try:
            return self._queue.get(block=seconds > 0, timeout=seconds or None)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Takes nothing any more. The thread ends when its dataset returns to it."""
        self._is_closed.set()

    def _run(self) -> None:
        error: Exception | None = None
        try:
            for batch, process, *tensors in self._dataset():
                delivery = Delivery(int(batch), int(process), tensors)
                if not self._put(delivery):
                    return
        except (tf.errors.OpError, ValueError, RuntimeError) as failed:
            error = failed
        self._put(End(error))

    def _put(self, each: Delivery | End) -> bool:
        """Returns whether anything is still taken."""
        while not self._is_closed.is_set():
            try:
                self._queue.put(each, timeout=_POLL_SECONDS)
                return True
            except queue.Full:
                continue
        return False
