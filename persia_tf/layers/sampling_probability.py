"""Estimates how often training samples each id, from counts in a table."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf import optimizers
from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.cluster import Cluster
from persia_tf.layers.loss_scaling import LossScaling
from persia_tf.layers.persia_embedding import PersiaEmbedding, cluster_of
from persia_tf.ops.gradients import custom_gradient
from persia_tf.table import Table

TOTAL_ID = -0x746F_7461_6C2D_3131
"""The id of the row that counts all ids. Do not use it as the id of anything else."""


@keras.saving.register_keras_serializable(package="persia_tf")
class SamplingProbability(keras.layers.Layer):
    """Estimates the share of each id among the ids that training has met.

    With in-batch negatives, popular items are negatives more often than rare ones. To
    correct for that, the logarithm of the share is subtracted from an item's scores
    (logQ correction: Bengio and Senecal, 2008; Yi et al., RecSys 2019), for example by
    `keras_rs.layers.SamplingProbabilityCorrection`.

    The layer counts ids in a table: any 64-bit id, on the shards, for all workers
    together. Each training step adds the number of times that its batch has an id to
    the count of that id, and the size of the batch to the total. Since updates only
    add, staleness delays counts and loses none. The backward pass counts, so the loss
    must depend on the result, without a `stop_gradient`; no gradient flows further. A
    frozen layer, `evaluate` and `predict` count nothing.

    The result is `(count + 1) / (total + n)`, where `n` is the number of ids in the
    call, as though the call had each of its ids once, so it is never 0.

    Example:

    ```python
    probability = ptf.layers.SamplingProbability(table="item_counts")
    correct = keras_rs.layers.SamplingProbabilityCorrection(epsilon=1e-12)
    scores = correct(scores, probability(item_ids, training=training))
    ```

    Args:
        table: Name of the table of counts. Layers with the same table count together.
        cluster: A `persia_tf.Cluster`, as for `PersiaEmbedding`. Its `wire_dtype` must
            not be `"float16"`, which has no number above 65504.
        **layer_kwargs: `name` and `trainable`, as for any layer.

    Input shape:
        Integers or strings, as for `PersiaEmbedding`, in a dense tensor of any rank.

    Output shape:
        The shape of the input, float32.

    Raises:
        TypeError: for an argument of another type, or ids that are not dense.
        ValueError: for a cluster that sends rows as float16.
        NotImplementedError: in training with float16, whose scaled loss would scale the
            counts. Use bfloat16.
    """

    def __init__(
        self, *, table: str, cluster: Cluster | None = None, **layer_kwargs: Any
    ) -> None:
        checks.instance("table", table, str, "a str")
        super().__init__(**layer_kwargs)
        self.supports_jit = False
        self.counts = PersiaEmbedding(
            1,
            table=table,
            embeddings_initializer="zeros",
            # So that a gradient of -1 adds 1.
            optimizer=optimizers.SGD(1.0),
            cluster=cluster,
            dtype="float32",
            name=f"{self.name}_counts",
        )
        self._loss_scaling = LossScaling(self)

    def build(self, input_shape: Any = None) -> None:
        used = self.counts.cluster or Cluster()
        if used.wire_dtype == "float16":
            raise ValueError(
                "`cluster` must not send rows as float16, which has no count above "
                f'65504. Received: wire_dtype="float16" for layer {self.name!r}'
            )
        if not self.counts.built:
            self.counts.build((None,))
        self.built = True

    def call(self, inputs: Any, training: bool | None = None) -> tf.Tensor:
        if isinstance(inputs, (tf.RaggedTensor, tf.SparseTensor)):
            raise TypeError(
                f"layer '{self.name}' takes ids in a dense tensor. "
                f"Received: {type(inputs).__name__}"
            )
        # The layer of counts decides, by the same rule, whether it trains.
        if self._loss_scaling.of_call(training is not False) is not None:
            raise NotImplementedError(
                f"layer '{self.name}' cannot count with a scaled loss: train in "
                "float32 or mixed_bfloat16. Received: float16 or a LossScaleOptimizer"
            )
        of_id = self.counts(inputs, training=training)
        of_all = self.counts(tf.constant([TOTAL_ID], tf.int64), training=training)
        return _share(of_id, of_all)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return keras.KerasTensor(inputs.shape, "float32")

    @property
    def rows(self) -> Table:
        """The counts, as a `ptf.Table` of rows of one number.

        Raises:
            ValueError: if the layer is not built.
        """
        return self.counts.rows

    def get_config(self) -> dict[str, Any]:
        cluster = self.counts.cluster
        return {
            **super().get_config(),
            "table": self.counts.table,
            "cluster": cluster and cluster.get_config(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SamplingProbability:
        return cls(**{**config, "cluster": cluster_of(config)})


@custom_gradient
def _share(of_id: tf.Tensor, of_all: tf.Tensor) -> tuple[tf.Tensor, Any]:
    """Returns shares, with gradients that add the ids of the call to their counts."""
    size = tf.cast(tf.size(of_id), tf.float32)

    def count(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return -tf.ones_like(of_id), -size * tf.ones_like(of_all)

    return (of_id[..., 0] + 1.0) / (of_all[0, 0] + size), count
