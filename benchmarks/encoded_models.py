"""The models of encoded_accuracy.py: those of the examples, with one layer of rows.

`PersiaEmbeddings` looks up all features at once. With a layer for each feature, most of
a step would be the waiting for the other worker, once for each layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from accuracy_data import (
    DATA_SETS,
    adult_data,
    criteo_data,
    movielens_data,
    movielens_model,
)

_DIM = 8
_FACTORS = 16


def build(name: str, cluster: Any, seed: int, hidden: Sequence[int]) -> Any:
    """Returns a compiled model.

    Args:
        name: The data set's name.
        cluster: The `persia_tf.Cluster` of its rows.
        seed: The seed of new rows.
        hidden: The widths of the layers of its network.
    """
    import tensorflow as tf

    data = DATA_SETS[name]
    builders = {"movielens": _movielens, "adult": _adult, "criteo": _criteo}
    model = builders[name](_Rows(name, cluster, seed), hidden)
    model.compile(
        tf.keras.optimizers.Adagrad(**data.adagrad), loss="binary_crossentropy"
    )
    return model


class _Rows:
    """The rows of all features of a data set, as one layer."""

    def __init__(self, name: str, cluster: Any, seed: int) -> None:
        self._data = DATA_SETS[name]
        self._cluster = cluster
        self._seed = seed

    def layer(self, features: Sequence[str], dim: int, pooled: Sequence[str]) -> Any:
        import tensorflow as tf

        import persia_tf as ptf

        scale = self._data.scale
        configs = {
            feature: ptf.TableConfig(
                dim,
                embeddings_initializer=tf.keras.initializers.RandomUniform(
                    -scale, scale, seed=self._seed
                ),
                optimizer=ptf.optimizers.Adagrad(**self._data.adagrad),
                combiner="mean" if feature in pooled else None,
                mask_zero=feature in pooled,
            )
            for feature in features
        }
        return ptf.layers.PersiaEmbeddings(configs, joined=True, cluster=self._cluster)


def _movielens(rows: _Rows, hidden: Sequence[int]) -> Any:
    """The DeepFM of the example."""
    import tensorflow as tf

    keras = tf.keras
    features = movielens_data.FEATURES
    inputs = _ids([each for each in features if each != "genres"])
    inputs["genres"] = keras.Input(
        (movielens_data.MAX_GENRES,), dtype="int64", name="genres"
    )
    joined = rows.layer(features, 1 + _FACTORS, ["genres"])(inputs)
    stacked = keras.layers.Reshape((len(features), 1 + _FACTORS))(joined)
    deep = _network(joined, hidden, dropout=0.1)
    logits = [
        movielens_model.FactorizationMachine()(stacked),
        keras.layers.Dense(1)(deep),
    ]
    chance = keras.layers.Activation("sigmoid")(keras.layers.Add()(logits))
    return keras.Model(inputs, chance)


def _adult(rows: _Rows, hidden: Sequence[int]) -> Any:
    return _with_numbers(
        rows, adult_data.CATEGORICAL, len(adult_data.NUMERIC), hidden, dropout=0.3
    )


def _criteo(rows: _Rows, hidden: Sequence[int]) -> Any:
    return _with_numbers(
        rows, criteo_data.CATEGORICAL, len(criteo_data.COUNTS), hidden, dropout=0.0
    )


def _with_numbers(
    rows: _Rows,
    features: Sequence[str],
    numbers: int,
    hidden: Sequence[int],
    dropout: float,
) -> Any:
    """A network over embedded categories and numbers."""
    import tensorflow as tf

    keras = tf.keras
    ids = _ids(features)
    given = keras.Input((numbers,), name="numbers")
    vectors = rows.layer(features, _DIM, [])(ids)
    x = keras.layers.Concatenate()([vectors, given])
    x = _network(x, hidden, dropout)
    chance = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model({**ids, "numbers": given}, chance)


def _ids(features: Sequence[str]) -> dict[str, Any]:
    import tensorflow as tf

    return {name: tf.keras.Input((), dtype="int64", name=name) for name in features}


def _network(x: Any, widths: Sequence[int], dropout: float) -> Any:
    import tensorflow as tf

    for width in widths:
        x = tf.keras.layers.Dense(width, activation="relu")(x)
        if dropout:
            x = tf.keras.layers.Dropout(dropout)(x)
    return x
