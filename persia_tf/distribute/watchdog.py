"""Ends steps that wait too long for another worker.

TensorFlow's own timeout of a collective operation has a thread sleep until the timeout,
also after the operation has ended. With several operations in each step and a timeout
of minutes, a process has thousands of threads, and dies of that where their number is
limited, as in containers. So the operations have no timeout here. Instead, one thread
of the process observes whether operations end.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from typing import Any

import tensorflow as tf
from absl import logging
from tensorflow.python.eager import context

from persia_tf.distribute.peers import Peers

# A thread that runs operations, or a function, is in a function of this module.
_RUNNING = "tensorflow/python/eager/execute.py"
_MOST_INTERVAL_SECONDS = 5.0


class Watchdog:
    """Aborts collective operations if none ends for too long while something runs.

    A worker that is not within a step, or any other operation of TensorFlow, may be
    idle for any time.

    Args:
        strategy: TensorFlow's strategy of several workers.
        timeout_seconds: How long a step may wait for other workers.
        peers: The other workers.
    """

    def __init__(
        self, strategy: tf.distribute.Strategy, timeout_seconds: float, peers: Peers
    ) -> None:
        with tf.init_scope(), tf.device("CPU:0"):
            self._ended = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._timeout_seconds = timeout_seconds
        for launcher in _launchers_of(strategy):
            for name in ("all_reduce", "_all_gather"):
                setattr(launcher, name, _noting(getattr(launcher, name), self))
        observer = threading.Thread(
            target=_observe,
            args=(weakref.ref(self), timeout_seconds, peers),
            name="persia-watchdog",
            daemon=True,
        )
        observer.start()

    @tf.autograph.experimental.do_not_convert
    def note(self, result: tf.Tensor) -> None:
        """Notes, as an operation of the graph, when a collective operation has ended.

        Args:
            result: The operation's result.
        """
        with tf.control_dependencies([result]), tf.device("CPU:0"):
            self._ended.assign_add(1, read_value=False)

    def ended(self) -> int:
        """Returns how many collective operations have ended."""
        return int(self._ended.numpy())

    def __deepcopy__(self, memo: Any) -> Watchdog:
        return self


def _noting(operation: Any, watchdog: Watchdog) -> Any:
    def noted(*args: Any, **kwargs: Any) -> Any:
        result = operation(*args, **kwargs)
        watchdog.note(result)
        return result

    return noted


def _launchers_of(strategy: tf.distribute.Strategy) -> list[Any]:
    """Returns the objects through which a strategy adds collective operations."""
    extended = strategy.extended
    return [
        launcher
        for operations in (
            extended._cross_device_ops,
            extended._host_cross_device_ops,
        )
        for launcher in operations._launchers
    ]


def _observe(
    watchdog: weakref.ref[Watchdog], timeout_seconds: float, peers: Peers
) -> None:
    interval = min(timeout_seconds / 10, _MOST_INTERVAL_SECONDS)
    ended, since = -1, time.monotonic()
    while (observed := watchdog()) is not None:
        now = observed.ended()
        del observed
        if now != ended or not _is_running():
            ended, since = now, time.monotonic()
        elif time.monotonic() - since > timeout_seconds:
            _abort(timeout_seconds, peers)
            return
        time.sleep(interval)


def _is_running() -> bool:
    """Returns whether a thread of this process runs an operation of TensorFlow."""
    own = threading.get_ident()
    return any(
        frame.f_code.co_filename.endswith(_RUNNING)
        for thread, frame in sys._current_frames().items()
        if thread != own
    )


def _abort(timeout_seconds: float, peers: Peers) -> None:
    message = (
        f"Collective operations have waited for other workers for {timeout_seconds:g} s"
        " (timeout_seconds of tf.distribute.experimental.CommunicationOptions): a "
        "worker has stopped taking part in steps, or is slow in its data or its first "
        "trace, or workers have inputs of different shapes. "
    )
    # Asked before the others learn of it, and may end because of it.
    message += peers.report(message)
    logging.error("%s", message)
    context.context().abort_collective_ops(tf.errors.DEADLINE_EXCEEDED, message)
