"""A training whose rows depend on its seed alone, and not on failures."""

from __future__ import annotations

import numpy as np


class SeededTraining:
    """Synchronous training of one table, with equal results each time it is run.

    Args:
        steps: Batches, of 8 ids each.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.ids = np.random.default_rng(0).integers(0, 300, (steps, 8))
        self.labels = (self.ids % 7).astype("float32")[..., None]

    def run(
        self, table: str, cluster, prefetched: bool = False, callbacks=()
    ) -> list[np.ndarray]:
        """Trains from the beginning to the end; returns the dense weights."""
        import tensorflow as tf

        import persia_tf as ptf
        from persia_tf._keras import keras

        keras.utils.set_random_seed(7)
        inputs = keras.Input(shape=(), dtype="int64")
        vectors = ptf.layers.PersiaEmbedding(
            4, table=table, cluster=cluster, optimizer=ptf.optimizers.Adam(0.01)
        )(inputs)
        model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
        model.compile("adam", "mse")
        dataset = tf.data.Dataset.from_tensor_slices((self.ids, self.labels))
        if prefetched:
            dataset = ptf.data.prefetch(dataset, model, staleness=0)
        model.fit(dataset, verbose=0, callbacks=list(callbacks))
        cluster.flush()
        return model.get_weights()


def assert_same_rows(rows: dict, expected: dict) -> None:
    """Checks that two tables have the same rows and states, bit by bit."""
    assert rows.keys() == expected.keys()
    for row_id, row in expected.items():
        np.testing.assert_array_equal(rows[row_id], row)
