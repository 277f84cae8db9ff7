"""Gives each worker of a strategy the bytes of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

# What a worker sends at a time. A constant, so that one trace is enough.
_PIECE_BYTES = 1 << 15
_LENGTH_BYTES = 8


def gathered(strategy: Any, contents: bytes) -> list[bytes]:
    """Returns the bytes of each replica, in the order of replicas.

    All workers must call it. Memory is needed for the bytes of all, and for one piece
    of each at a time.

    Args:
        strategy: The `tf.distribute.Strategy` of several workers.
        contents: The bytes of this worker.
    """
    own = len(contents).to_bytes(_LENGTH_BYTES, "little") + contents
    received = _pieces(strategy, own[:_PIECE_BYTES])
    lengths = [int.from_bytes(each[:_LENGTH_BYTES], "little") for each in received]
    ends = [_LENGTH_BYTES + length for length in lengths]
    for start in range(_PIECE_BYTES, max(ends), _PIECE_BYTES):
        pieces = _pieces(strategy, own[start : start + _PIECE_BYTES])
        for each, piece in zip(received, pieces):
            each += piece
    return [bytes(each[_LENGTH_BYTES:end]) for each, end in zip(received, ends)]


def _pieces(strategy: Any, piece: bytes) -> list[bytearray]:
    values = np.frombuffer(piece.ljust(_PIECE_BYTES, b"\0"), np.uint8)
    # All devices and collectives can sum float32, in which these numbers are exact.
    total = _rows(strategy, tf.constant(values, tf.float32))
    rows = strategy.experimental_local_results(total)[0].numpy()
    return [bytearray(row.astype(np.uint8).tobytes()) for row in rows]


@tf.function
def _rows(strategy: Any, value: tf.Tensor) -> Any:
    def of_replicas(value: tf.Tensor) -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        replicas = strategy.num_replicas_in_sync
        own = tf.one_hot(context.replica_id_in_sync_group, replicas)
        return context.all_reduce("SUM", own[:, tf.newaxis] * value)

    return strategy.run(of_replicas, args=(value,))
