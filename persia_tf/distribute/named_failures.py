"""Makes the errors of failed exchanges name the workers that failed.

If a worker is gone, TensorFlow aborts all collective operations of the others, and
Keras raises the error of TensorFlow. Its message has the numbers of tasks, if at all,
and may have that of a worker that has only passed the error on. So a report of the
other workers is added to such a message when the error is created: whichever method of
Keras is called, or none.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.distribute.peers import REPORT_BEGINS, Peers

# How messages of TensorFlow say that an exchange has failed.
_SIGNS = (
    "Collective ops is aborted by",
    "Additional GRPC error information from remote target",
)

_peers: Peers | None = None


def name_failed_workers(peers: Peers) -> None:
    """Adds a report of the other workers to each error of an exchange with them.

    Args:
        peers: The other workers. They replace those of an earlier call.
    """
    global _peers
    _peers = peers
    create = tf.errors.OpError.__init__
    if not hasattr(create, "__wrapped__"):
        tf.errors.OpError.__init__ = _reporting(create)


def _reporting(create: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(create)
    def reporting(
        self: Any, node_def: Any, op: Any, message: Any, *args: Any, **kwargs: Any
    ) -> None:
        # At the end of the process no thread can be started to ask the others.
        with contextlib.suppress(RuntimeError):
            message = _with_report(message)
        create(self, node_def, op, message, *args, **kwargs)

    return reporting


def _with_report(message: Any) -> Any:
    # A worker that passes its error on has reported already.
    if _peers is None or not isinstance(message, str) or REPORT_BEGINS in message:
        return message
    for sign in _SIGNS:
        _, found, reason = message.partition(sign)
        if found:
            return f"{message}\n{_peers.report(reason)}"
    return message
