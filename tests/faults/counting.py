"""A training whose rows count how often each id was trained: lost updates show."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.table import uninterrupted

IDS = 500
BATCH = 32


def _counted(y, count):
    # Each sample of a batch adds 1 to its row.
    return -tf.reduce_sum(count)


class Counting:
    """Trains one batch a call, and knows the rows that the table must have then.

    Args:
        table: The table's name.
        cluster: Where it is.
    """

    def __init__(self, table: str, cluster: ptf.Cluster) -> None:
        ids = keras.Input((), dtype="int64")
        count = ptf.layers.PersiaEmbedding(
            1,
            table=table,
            cluster=cluster,
            embeddings_initializer="zeros",
            optimizer=ptf.optimizers.SGD(1.0),
        )(ids)
        self._model = keras.Model(ids, count)
        self._model.compile("sgd", _counted)
        self._rows = ptf.Table(table, cluster)
        self._draw = np.random.default_rng(1)
        self._expected = self.counts()
        self.steps = 0

    def __call__(self) -> None:
        """Trains one batch."""
        ids = self._draw.integers(0, IDS, BATCH)
        self._model.train_on_batch(ids, np.zeros((BATCH, 1), "float32"))
        np.add.at(self._expected, ids, 1)
        self.steps += 1

    def counts(self) -> np.ndarray:
        """Returns what each id's row has; 0 for ids without a row."""
        # A promotion interrupts an export, as a move of slots does.
        return uninterrupted(self._read)

    def _read(self) -> np.ndarray:
        counts = np.zeros(IDS)
        for page in self._rows.export():
            counts[page.ids] = page.rows[:, 0]
        return counts

    def wrong_rows(self) -> dict[int, tuple[float, float]]:
        """Returns what the table has and should have, for ids where that differs."""
        counts = self.counts()
        return {
            int(each): (counts[each], self._expected[each])
            for each in np.flatnonzero(counts != self._expected)
        }
