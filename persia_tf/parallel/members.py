"""Collective operations between the workers of a group, or between all workers.

They are TensorFlow's own collectives. TensorFlow tells collectives apart by two keys
that must be equal on all workers: one for the workers that take part, and one for the
operation. TensorFlow's strategies count their keys up, since all their collectives
involve all workers. Here, keys follow from names, so that workers agree on them however
often each of them traces its functions.
"""

from __future__ import annotations

import secrets
import weakref
import zlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.distribute.watchdog import Watchdog

# TensorFlow's strategies use keys from 1 on.
_FIRST_GROUP_KEY = 1 << 29
_MOST_KEYS = 1 << 30
# Any large prime: it spreads the keys of one name for different shapes.
_ROWS_FACTOR = 7919


class Members:
    """Workers that exchange tensors, including this one.

    All methods are collective: every member must call them in step, with the same names
    and shapes. Within a function they add operations to its graph that run as soon as
    their inputs are there. An exchange fails if a member has died, or if the strategy's
    watchdog ends a step that waits too long.

    Args:
        name: A name for this set of workers. Sets with different members must have
            different names.
        size: How many workers they are.
        watchdog: The strategy's watchdog, or None.
    """

    def __init__(self, name: str, size: int, watchdog: Watchdog | None) -> None:
        self.size = size
        self._watchdog = watchdog
        self._group_key = (
            _FIRST_GROUP_KEY + zlib.crc32(name.encode()) % _FIRST_GROUP_KEY
        )
        self._rank: int | None = None

    @property
    def rank(self) -> int:
        """This worker's place among the members, from 0, in the order of `gather`.

        The first use is collective.
        """
        if self._rank is None:
            self._rank = self._find_rank()
        return self._rank

    def gather(self, value: tf.Tensor, name: str) -> tf.Tensor:
        """Returns the members' values, concatenated along the first axis.

        Args:
            value: Of at least rank 1, with the same shape on all members.
            name: The name of the exchange.
        """
        if self.size == 1:
            return value
        return self._moved(tf.raw_ops.CollectiveGatherV2, value, name)

    def exchange(self, value: tf.Tensor, name: str) -> tf.Tensor:
        """Sends one slice to each member, and returns the slices received.

        Args:
            value: `(size, ...)`: the slice for each member, with the same shape on all
                members.
            name: The name of the exchange.

        Returns:
            `(size, ...)`: the slice of each member for this one.
        """
        if self.size == 1:
            return value
        return self._moved(tf.raw_ops.CollectiveAllToAllV2, value, name)

    def sum(self, value: tf.Tensor, name: str) -> tf.Tensor:
        """Returns the sum of the members' values.

        Args:
            value: With the same shape on all members.
            name: The name of the exchange.
        """
        return self._reduce(value, name, "Add")

    def maximum(self, value: tf.Tensor, name: str) -> tf.Tensor:
        """Returns the greatest of the members' values, as `sum` does the sum."""
        return self._reduce(value, name, "Max")

    @tf.autograph.experimental.do_not_convert
    def either(
        self,
        condition: tf.Tensor,
        if_true: Callable[[], Any],
        if_false: Callable[[], Any],
    ) -> Any:
        """Returns the results of one of two functions that exchange tensors.

        Args:
            condition: A bool scalar, equal on all members.
            if_true: Called without arguments; returns a nest of tensors.
            if_false: The same; its results have the same structure and dtypes.
        """
        # What is noted within would have the exchanges wait for all earlier ones, since
        # TensorFlow orders conditions that write the same variable.
        watchdog, self._watchdog = self._watchdog, None
        try:
            results = tf.cond(condition, if_true, if_false)
        finally:
            self._watchdog = watchdog
        self._noted(tf.nest.flatten(results)[0])
        return results

    def _moved(
        self, operation: Callable[..., tf.Tensor], value: tf.Tensor, name: str
    ) -> tf.Tensor:
        # Collectives that only move numbers know no bfloat16, but the same bits.
        is_unknown = value.dtype == tf.bfloat16
        known = tf.bitcast(value, tf.float16) if is_unknown else value
        result = self._noted(operation(input=known, **self._keys(known, name)))
        return tf.bitcast(result, value.dtype) if is_unknown else result

    def _reduce(self, value: tf.Tensor, name: str, operation: str) -> tf.Tensor:
        if self.size == 1:
            return value
        keys = self._keys(value, name)
        reduced = tf.raw_ops.CollectiveReduceV2(
            input=value, merge_op=operation, final_op="Id", **keys
        )
        return self._noted(reduced)

    def _noted(self, result: tf.Tensor) -> tf.Tensor:
        if self._watchdog is not None:
            self._watchdog.note(result)
        return result

    def _find_rank(self) -> int:
        # TensorFlow orders the members by their devices; which order that is does not
        # matter. So each sends a number that no other member has.
        token = secrets.randbits(62)
        with tf.init_scope():
            tokens = self.gather(tf.constant([token], tf.int64), "rank")
            return tokens.numpy().tolist().index(token)

    def _keys(self, value: tf.Tensor, name: str) -> dict[str, Any]:
        return {
            "group_size": self.size,
            "group_key": self._group_key,
            "instance_key": _instance_key(value, name),
            "ordering_token": [],
            "communication_hint": "ring",
        }


def _instance_key(value: tf.Tensor, name: str) -> Any:
    """Returns the key of an exchange.

    TensorFlow refuses one key for different shapes, so a key depends on the shape, if
    need be as a tensor. Exchanges that a graph may run at the same time need different
    keys, so a key depends on how often the graph has used the name.
    """
    unique = f"{name}/{_count_use(name)}/{value.dtype.name}/{value.shape}"
    key = zlib.crc32(unique.encode()) % _MOST_KEYS
    if value.shape.is_fully_defined():
        return key
    elements = tf.size(value, out_type=tf.int64)
    return tf.cast((key + elements * _ROWS_FACTOR) % _MOST_KEYS, tf.int32)


_uses: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()


def _count_use(name: str) -> int:
    """Returns how often the function that is being traced has used a name before."""
    if tf.executing_eagerly():
        return 0
    graph = tf.compat.v1.get_default_graph()
    while graph.building_function and graph.outer_graph.building_function:
        graph = graph.outer_graph
    counts = _uses.setdefault(graph, {})
    counts[name] = counts.get(name, -1) + 1
    return counts[name]
