"""The click model of the workload, on PersiaEmbedding and on Keras's Embedding."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf
from step_windows import Losses, StepWindows
from workload_w1 import DENSE, DIM, FEATURES

import persia_tf as ptf
from persia_tf._keras import keras

ADAGRAD = {"learning_rate": 0.05, "initial_accumulator_value": 0.1}
DENSE_LEARNING_RATE = 0.001


def cluster(arguments: argparse.Namespace) -> ptf.Cluster:
    """Returns the cluster that a command line and the environment describe."""
    if arguments.embedding == "persia-embedded":
        return ptf.Cluster.embedded(staleness=arguments.staleness)
    return ptf.Cluster(staleness=arguments.staleness, wire_dtype=arguments.wire_dtype)


def make_persia_joined(vocabularies: Sequence[int], cluster: ptf.Cluster) -> Any:
    """Returns the model that `make_persia` returns, with one layer for all features."""
    adagrad = ptf.optimizers.Adagrad(**ADAGRAD)
    tables = {
        f"c{feature}": ptf.TableConfig(DIM, optimizer=adagrad)
        for feature in range(len(vocabularies))
    }
    embed = ptf.layers.PersiaEmbeddings(tables, joined=True, cluster=cluster)
    ids = keras.Input(shape=(FEATURES,), dtype="int64")
    dense = keras.Input(shape=(DENSE,))
    model = keras.Model([ids, dense], _dense_part([embed(ids), dense]))
    model.compile(keras.optimizers.Adam(DENSE_LEARNING_RATE), _loss())
    return model


def make_persia(
    vocabularies: Sequence[int], cluster: ptf.Cluster, **layer_options: Any
) -> Any:
    """Returns the model with rows on a cluster, compiled like any Keras model.

    Args:
        vocabularies: The number of distinct ids of each feature.
        cluster: The cluster that holds the rows.
        **layer_options: Further arguments of every `PersiaEmbedding`.
    """

    def embed(feature: int) -> Any:
        return ptf.layers.PersiaEmbedding(
            DIM,
            table=f"c{feature}",
            optimizer=ptf.optimizers.Adagrad(**ADAGRAD),
            cluster=cluster,
            **layer_options,
        )

    model = _make(keras.Model, [embed(f) for f in range(len(vocabularies))])
    model.compile(keras.optimizers.Adam(DENSE_LEARNING_RATE), _loss())
    return model


def make_persia_columns(vocabularies: Sequence[int], cluster: ptf.Cluster) -> Any:
    """Returns the model that `make_persia` returns, with one table for all features.

    The ids of different features differ, so the table has the same rows.
    """
    embed = ptf.layers.PersiaEmbedding(
        DIM,
        table="all",
        optimizer=ptf.optimizers.Adagrad(**ADAGRAD),
        cluster=cluster,
    )
    ids = keras.Input(shape=(len(vocabularies),), dtype="int64")
    dense = keras.Input(shape=(DENSE,))
    vectors = keras.layers.Flatten()(embed(ids))
    model = keras.Model([ids, dense], _dense_part([vectors, dense]))
    model.compile(keras.optimizers.Adam(DENSE_LEARNING_RATE), _loss())
    return model


PERSIA_MODELS = {
    "joined": make_persia_joined,
    "separate": make_persia,
    "columns": make_persia_columns,
}


def make_keras(vocabularies: Sequence[int]) -> Any:
    """Returns the model with Keras's own tables, in this process."""

    class TwoOptimizers(keras.Model):
        """Updates tables by Adagrad and the dense layers by Adam."""

        def train_step(self, data: Any) -> dict[str, Any]:
            inputs, labels = data
            with tf.GradientTape() as tape:
                loss = _loss()(labels, self(inputs, training=True))
            tables = [layer.trainable_variables[0] for layer in self.tables]
            dense = [v for v in self.trainable_variables if not _is_one_of(v, tables)]
            gradients = tape.gradient(loss, tables + dense)
            self.table_optimizer.apply_gradients(zip(gradients, tables))
            self.optimizer.apply_gradients(zip(gradients[len(tables) :], dense))
            return {"loss": loss}

    tables = [keras.layers.Embedding(size, DIM) for size in vocabularies]
    model = _make(TwoOptimizers, tables)
    model.tables = tables
    model.table_optimizer = keras.optimizers.Adagrad(**ADAGRAD)
    model.table_optimizer.build([layer.trainable_variables[0] for layer in tables])
    model.compile(keras.optimizers.Adam(DENSE_LEARNING_RATE))
    return model


class _WithGradient(keras.layers.Layer):
    """Returns its input, and makes each training step compute the output's gradient.

    Without a trainable weight before it, TensorFlow would not compute that gradient.
    """

    def build(self, input_shape: Any = None) -> None:
        self.factor = self.add_weight(shape=(), initializer="ones", name="factor")
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        @tf.custom_gradient
        def unchanged(vectors: tf.Tensor, factor: tf.Tensor) -> tuple[Any, Any]:
            del factor
            # A gradient of the factor that needs the vectors' gradient, and is zero.
            return vectors, lambda upstream: (upstream, 0 * upstream[0, 0])

        return unchanged(inputs, tf.convert_to_tensor(self.factor))


def make_dense_only(with_gradient: bool) -> Any:
    """Returns the dense part alone: its first input is the features' vectors.

    Args:
        with_gradient: Whether a step computes the vectors' gradient, as it must where
            the vectors are those of embeddings.
    """
    inputs = [keras.Input(shape=(FEATURES * DIM,)), keras.Input(shape=(DENSE,))]
    vectors, dense = inputs
    if with_gradient:
        vectors = _WithGradient()(vectors)
    model = keras.Model(inputs, _dense_part([vectors, dense]))
    model.compile(keras.optimizers.Adam(DENSE_LEARNING_RATE), _loss())
    return model


class Windows(keras.callbacks.Callback):
    """Counts steps in windows of time, after a warm-up, then ends training.

    Attributes:
        measured: `(steps, seconds)` of each window.
        total_steps: The number of steps, including the warm-up.
        steps: What counts the steps.
    """

    def __init__(
        self,
        count: int,
        seconds: float,
        warm_up_steps: int,
        pids: Iterable[int] = (),
    ) -> None:
        super().__init__()
        self.steps = StepWindows(count, seconds, warm_up_steps, pids)

    @property
    def measured(self) -> list[tuple[int, float]]:
        return self.steps.measured

    @property
    def total_steps(self) -> int:
        return self.steps.total_steps

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if not self.steps.step():
            self.model.stop_training = True


class LossesOfFit(keras.callbacks.Callback):
    """Keeps the losses of `fit` with one epoch.

    Attributes:
        losses: The losses so far.
    """

    def __init__(self, are_means: bool) -> None:
        """Makes a callback.

        Args:
            are_means: Whether a step logs the mean loss of the epoch so far, as it does
                unless the model has a training step of its own.
        """
        super().__init__()
        self.losses = Losses()
        self._add = self.losses.add_mean if are_means else self.losses.add

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._add(float(logs["loss"]))


def traffic(steps: int) -> dict[str, float]:
    """Returns figures about this process's requests in its first `steps` steps."""
    metrics = ptf.metrics()
    return {
        "staleness_max": metrics["staleness_max"],
        "bytes_out_per_step": metrics["bytes_out"] / steps,
        "bytes_in_per_step": metrics["bytes_in"] / steps,
        "lookup_requests_per_step": metrics["lookup_requests"] / steps,
        "lookup_waits_per_step": metrics["lookup_waits"] / steps,
        "lookup_wait_ms_per_step": metrics["lookup_wait_seconds"] * 1e3 / steps,
        "prefetch_stale": metrics["prefetch_stale"],
        "retries": metrics["retries"],
    }


def versions() -> dict[str, str]:
    return {
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "persia_tf": ptf.__version__,
        "python": platform.python_version(),
    }


def _make(model_class: type, embeddings: Sequence[Any]) -> Any:
    ids = keras.Input(shape=(FEATURES,), dtype="int64")
    dense = keras.Input(shape=(DENSE,))
    vectors = [embed(ids[:, f]) for f, embed in enumerate(embeddings)]
    return model_class([ids, dense], _dense_part([*vectors, dense]))


def _dense_part(inputs: Sequence[Any]) -> Any:
    x = keras.layers.Concatenate()(inputs)
    x = keras.layers.Dense(256, activation="relu")(x)
    x = keras.layers.Dense(128, activation="relu")(x)
    return keras.layers.Dense(1)(x)


def _loss() -> Any:
    return keras.losses.BinaryCrossentropy(from_logits=True)


def _is_one_of(variable: Any, variables: Sequence[Any]) -> bool:
    return any(variable is other for other in variables)
