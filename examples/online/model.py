"""Whether a user clicks an item: the dot product of two rows, and the item's own."""

from typing import Any

import tensorflow as tf

import persia_tf as ptf

keras = tf.keras

DIM = 8


def build(seed: int) -> Any:
    """Returns the model, compiled.

    It has no dense weights, so a served copy of it that follows the rows is current.

    Args:
        seed: the seed of the rows' first values.
    """
    keras.utils.set_random_seed(seed)
    user = keras.Input((), dtype="int64", name="user")
    item = keras.Input((), dtype="int64", name="item")
    affinity = keras.layers.Dot(axes=1)(
        [_rows("user", DIM)(user), _rows("item", DIM)(item)]
    )
    popularity = _rows("popularity", 1, "zeros")(item)
    logits = keras.layers.Add()([affinity, popularity])
    chance = keras.layers.Activation("sigmoid", name="chance")(logits)
    model = keras.Model({"user": user, "item": item}, chance)
    model.compile("sgd", "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc")])
    return model


def _rows(table: str, dim: int, values: Any = "random_normal") -> Any:
    return ptf.layers.PersiaEmbedding(
        dim,
        table=table,
        embeddings_initializer=values,
        # Unlike Adagrad, it goes on to learn at the same rate, since users change.
        optimizer=ptf.optimizers.Adam(0.02),
    )
