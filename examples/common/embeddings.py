"""The embedding layers of the examples: PERSIA's, or Keras's as a check.

Both have the same interface, so that one model works with either:

    rows = embeddings.KINDS["persia"](settings)
    train, test = rows.encode(train, test)
    vectors = rows.layer("user", 17)(ids)
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from common.table import Table

keras = tf.keras


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of both kinds of rows.

    Args:
        example: the prefix of the tables' names.
        adagrad: the arguments of the optimizer, an Adagrad.
        scale: new rows are uniform in [-scale, scale].
        seed: the seed of new rows.
        tables: for each feature that shares another feature's table, the name of the
            other feature.
    """

    example: str
    adagrad: dict[str, float]
    scale: float
    seed: int
    tables: Mapping[str, str] = dataclasses.field(default_factory=dict)


class PersiaRows:
    """Rows in parameter servers: any int64 is an id, without a vocabulary.

    Args:
        settings: the settings of the rows.
        cluster: a `persia_tf.Cluster`, or None for the environment's.
    """

    def __init__(self, settings: Settings, cluster: Any = None) -> None:
        self._settings = settings
        self._cluster = cluster

    def encode(self, train: Table, test: Table) -> tuple[Table, Table]:
        """Returns the tables unchanged."""
        return train, test

    def layer(
        self, feature: str, dim: int, pooled: bool = False, masked: bool = False
    ) -> Callable:
        """Returns the layer of one feature.

        Args:
            feature: the feature's name, which determines the table.
            dim: weights per row.
            pooled: whether an example has several ids, padded with 0, whose rows
                are averaged.
            masked: whether 0 is padding, and later layers get a mask of it.
        """
        import persia_tf as ptf  # Not needed for the check with Keras.

        settings = self._settings
        return ptf.layers.PersiaEmbedding(
            dim,
            table=f"{settings.example}/{feature}",
            embeddings_initializer=keras.initializers.RandomUniform(
                -settings.scale, settings.scale, seed=settings.seed
            ),
            optimizer=ptf.optimizers.Adagrad(**settings.adagrad),
            combiner="mean" if pooled else None,
            mask_zero=pooled or masked,
            cluster=self._cluster,
            name=f"{feature}_rows",
        )


class KerasRows:
    """Rows in `keras.layers.Embedding`: ids become indices into a vocabulary."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sizes: dict[str, int] = {}

    def encode(self, train: Table, test: Table) -> tuple[Table, Table]:
        """Returns the tables with ids replaced by indices into the vocabulary."""
        vocabularies: dict[str, np.ndarray] = {}
        of_ids = [k for k, v in train.features.items() if v.dtype.kind in "iu"]
        for name in of_ids:
            # Sorted, so that 0, which is padding and less than all ids, stays 0.
            ids = np.union1d(train.features[name], test.features[name])
            known = vocabularies.get(self._table(name), ids)
            vocabularies[self._table(name)] = np.union1d(known, ids)
        for name in of_ids:
            vocabulary = vocabularies[self._table(name)]
            train = train.map(name, vocabulary.searchsorted)
            test = test.map(name, vocabulary.searchsorted)
        self._sizes = {table: len(ids) for table, ids in vocabularies.items()}
        return train, test

    def _table(self, feature: str) -> str:
        return self._settings.tables.get(feature, feature)

    def layer(
        self, feature: str, dim: int, pooled: bool = False, masked: bool = False
    ) -> Callable:
        """Returns the layer of one feature, as `PersiaRows.layer` does."""
        scale = self._settings.scale
        rows = _SummedEmbedding(
            self._sizes[feature],
            dim,
            embeddings_initializer=keras.initializers.RandomUniform(-scale, scale),
            mask_zero=pooled or masked,
            name=f"{feature}_rows",
        )
        if not pooled:
            return rows
        mean = keras.layers.GlobalAveragePooling1D(name=f"{feature}_mean")
        return lambda ids: mean(rows(ids))


class _SummedEmbedding(keras.layers.Embedding):
    """Gives the optimizer one gradient per id, as PERSIA does.

    For an id that occurs several times in a batch, Adagrad of Keras 3 adds the
    square of each occurrence's gradient, while PERSIA (and Keras 2) adds the
    square of their sum. To compare the same update rule, the multiplication
    below makes the gradient dense, which sums the occurrences.
    """

    def call(self, inputs: Any) -> Any:
        return tf.gather(tf.convert_to_tensor(self.embeddings) * 1.0, inputs)


KINDS = {"persia": PersiaRows, "keras": KerasRows}
