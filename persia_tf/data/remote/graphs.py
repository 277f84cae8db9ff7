"""What the graph of a dataset calls, which another process must have."""

from __future__ import annotations

import tensorflow as tf

from persia_tf.data.remote import functions

_IGNORE_STATE = 1


def calls_python(dataset: tf.data.Dataset) -> bool:
    """Returns whether a dataset calls Python functions that only this process has."""
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(
        tf.raw_ops.DatasetToGraphV2(
            input_dataset=tf.data.experimental.to_variant(dataset),
            external_state_policy=_IGNORE_STATE,
        ).numpy()
    )
    nodes = [node for function in graph.library.function for node in function.node_def]
    called = [
        node.attr["token"].s.decode()
        for node in (*graph.node, *nodes)
        if node.op in ("PyFunc", "PyFuncStateless", "EagerPyFunc")
    ]
    return not set(called) <= functions.NAMES
