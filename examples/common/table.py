"""A table of examples in memory: features, labels, and its batches."""

import dataclasses
from collections.abc import Callable
from typing import Optional

import numpy as np


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of features, each with a binary label.

    Args:
        features: arrays with one entry per row, by feature name.
        labels: 0 or 1 for each row, float32.
        probabilities: the probabilities that the labels were drawn with, if known.
    """

    features: dict[str, np.ndarray]
    labels: np.ndarray
    probabilities: Optional[np.ndarray] = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows) -> "Table":
        """Returns the given rows: a slice, or an array of row numbers."""
        known = self.probabilities
        return Table(
            {name: column[rows] for name, column in self.features.items()},
            self.labels[rows],
            None if known is None else known[rows],
        )

    def map(
        self, feature: str, function: Callable[[np.ndarray], np.ndarray]
    ) -> "Table":
        """Returns the table with a function applied to one feature."""
        column = function(self.features[feature])
        return dataclasses.replace(self, features={**self.features, feature: column})

    def split(self, test_fraction: float, seed: int) -> tuple["Table", "Table"]:
        """Returns a random (training, test) split, in random order."""
        order = np.random.default_rng(seed).permutation(len(self))
        cut = len(self) - round(test_fraction * len(self))
        return self.take(order[:cut]), self.take(order[cut:])

    def batches(self, batch_size: int, shuffle_seed: Optional[int] = None):
        """Returns a `tf.data.Dataset` of (features, labels) batches.

        The rows of a batch are gathered at once from the whole columns: slicing
        them one by one would cost more than the training step.

        Args:
            batch_size: rows per batch; the last batch may have fewer.
            shuffle_seed: the seed for shuffling the rows, differently in each epoch;
                None keeps their order.
        """
        import tensorflow as tf

        columns = {k: tf.constant(v) for k, v in self.features.items()}
        labels = tf.constant(self.labels)

        def gather(rows):
            batch = {k: tf.gather(v, rows) for k, v in columns.items()}
            return batch, tf.gather(labels, rows)

        rows = tf.data.Dataset.range(len(self))
        if shuffle_seed is not None:
            rows = rows.shuffle(len(self), seed=shuffle_seed)
        return rows.batch(batch_size).map(gather).prefetch(2)
