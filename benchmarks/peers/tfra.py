"""The side `tfra` of peers.py: TensorFlow Recommenders Addons, in one process.

    PYTHONPATH=benchmarks python benchmarks/peers/tfra.py

All features share one dynamic embedding, which takes fewer operations than one for each
feature. It has the same rows, since the ids of different features differ.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

import peer_training as training
from workload_w1 import DENSE, DIM, FEATURES, load

# These addons use tf_keras, whatever Keras TensorFlow itself would use.
os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def make_step(rows: int) -> Any:
    """Returns a function that trains one batch, and returns its loss."""
    import tensorflow as tf
    from tensorflow_recommenders_addons import dynamic_embedding as de

    layers, optimizers = tf.keras.layers, tf.keras.optimizers.legacy
    uniform = tf.keras.initializers.RandomUniform(
        -training.UNIFORM, training.UNIFORM, seed=training.SEED
    )
    table = de.keras.layers.Embedding(
        DIM, initializer=uniform, devices=["/CPU:0"], init_capacity=rows
    )
    dense_part = tf.keras.Sequential(
        [
            tf.keras.Input((FEATURES * DIM + DENSE,)),
            layers.Dense(256, activation="relu"),
            layers.Dense(128, activation="relu"),
            layers.Dense(1),
        ]
    )
    adagrad = de.DynamicEmbeddingOptimizer(
        optimizers.Adagrad(
            training.ADAGRAD_LEARNING_RATE,
            initial_accumulator_value=training.ADAGRAD_INITIAL,
        )
    )
    adam = optimizers.Adam(training.ADAM_LEARNING_RATE)

    @tf.function
    def step(ids: Any, dense: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            vectors = tf.reshape(table(ids), [-1, FEATURES * DIM])
            logits = dense_part(tf.concat([vectors, dense], axis=1))
            loss = tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
            )
        of_table, of_dense = table.trainable_weights, dense_part.trainable_weights
        gradients = tape.gradient(loss, of_table + of_dense)
        adagrad.apply_gradients(zip(gradients, of_table))
        adam.apply_gradients(zip(gradients[len(of_table) :], of_dense))
        return loss

    return step


def steps(arguments: argparse.Namespace) -> Iterator[float]:
    """Trains without an end; yields the loss of each step."""
    import tensorflow as tf

    data = load(arguments.batches, arguments.batch, arguments.rows)
    inputs = data.ids(), data.dense, data.labels
    step = make_step(data.rows)
    for batch in tf.data.Dataset.from_tensor_slices(inputs).repeat():
        yield float(step(*batch))


def main() -> None:
    arguments = training.parse_arguments(__doc__.splitlines()[0])
    figures = training.measure(steps(arguments), arguments)
    packages = ["tensorflow-recommenders-addons", "tensorflow", "tf_keras", "numpy"]
    training.report("tfra", figures, arguments, packages)


if __name__ == "__main__":
    main()
