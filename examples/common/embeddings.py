"""The layer that an example's ids go through: PERSIA's, or Keras's as the check.

Both are used alike, so that a model is one code for either:

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
    """What both kinds of rows have in common.

    Args:
        example: goes before the names of the tables.
        adagrad: the arguments of the optimizer, an Adagrad.
        scale: new rows are uniform in [-scale, scale].
        seed: of the new rows.
        tables: of features that have the ids of another one: its name.
    """

    example: str
    adagrad: dict[str, float]
    scale: float
    seed: int
    tables: Mapping[str, str] = dataclasses.field(default_factory=dict)


class PersiaRows:
    """Rows in parameter servers: any int64 is an id, there is no vocabulary.

    Args:
        settings: of the rows.
        cluster: a `persia_tf.Cluster`, or None for the environment's.
    """

    def __init__(self, settings: Settings, cluster: Any = None) -> None:
        self._settings = settings
        self._cluster = cluster

    def encode(self, train: Table, test: Table) -> tuple[Table, Table]:
        """Returns the tables as they are."""
        return train, test

    def layer(
        self, feature: str, dim: int, pooled: bool = False, masked: bool = False
    ) -> Callable:
        """Returns the layer of one feature.

        Args:
            feature: names the table.
            dim: entries a row.
            pooled: several ids an example, of which 0 is padding: their mean.
            masked: 0 is padding, which a mask tells the layers behind.
        """
        import persia_tf as ptf  # The check runs without it.

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
    """Rows in `keras.layers.Embedding`: ids become places in a vocabulary."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sizes: dict[str, int] = {}

    def encode(self, train: Table, test: Table) -> tuple[Table, Table]:
        """Returns the tables with places in the vocabulary as ids."""
        vocabularies: dict[str, np.ndarray] = {}
        of_ids = [k for k, v in train.features.items() if v.dtype.kind in "iu"]
        for name in of_ids:
            # Sorted, so that padding, 0, which no id is below, stays 0.
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
    """Hands the optimizer one gradient an id, as PERSIA does.

    Keras 3 squares each occurrence of a repeated id by itself, PERSIA (and
    Keras 2) their sum: another update rule, which would blur the comparison.
    The product makes the gradient dense, and so summed.
    """

    def call(self, inputs: Any) -> Any:
        return tf.gather(tf.convert_to_tensor(self.embeddings) * 1.0, inputs)


KINDS = {"persia": PersiaRows, "keras": KerasRows}
