"""A model that counts how often each sample was trained, for jobs that are killed."""

import numpy as np
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras


def seed(number):
    """Makes all that is random depend on a number, also the dropout of tf_keras."""
    keras.utils.set_random_seed(number)
    if not IS_KERAS_3:
        keras.backend.experimental.enable_tf_random_generator()


def loss(y, outputs):
    return keras.losses.mean_squared_error(y, outputs)


def counted(y, count):
    # Each sample of a batch takes 1 from its row, with the mean over the batch undone.
    return -tf.reduce_sum(count)


def make_model(cluster, layers=(), **options):
    """Returns a compiled model of ids, whose table `counts` has the count of each.

    Args:
        cluster: The `ptf.Cluster` of its tables.
        layers: Layers before the last one.
        **options: More arguments of `compile`.
    """
    ids = keras.Input((), dtype="int64", name="id")
    vectors = ptf.layers.PersiaEmbedding(
        4, table="rows", cluster=cluster, optimizer=ptf.optimizers.Adagrad()
    )(ids)
    count = ptf.layers.PersiaEmbedding(
        1,
        table="counts",
        cluster=cluster,
        embeddings_initializer="zeros",
        optimizer=ptf.optimizers.SGD(1.0),
    )(ids)
    x = keras.layers.Dropout(0.3)(keras.layers.Dense(8, "relu")(vectors))
    for layer in layers:
        x = layer(x)
    outputs = keras.layers.Dense(1, name="head")(x)
    model = keras.Model({"id": ids}, [outputs, count])
    model.compile("adam", loss=[loss, counted], **options)
    return model


def doubled(x, y):
    """Gives each output of the model its labels."""
    return x, (y, y)


def rows_of(cluster):
    """Returns the rows of both tables, with their optimizer's state, by table."""
    found = {}
    for name in ("rows", "counts"):
        pages = ptf.Table(name, cluster).export()
        rows = [
            (int(i), *row, *state)
            for page in pages
            for i, row, state in zip(page.ids, page.rows, page.state)
        ]
        found[name] = np.array(sorted(rows))
    return found


def state_of(model, cluster):
    """Returns all that training has changed, by name."""
    optimizer = model.optimizer.variables
    optimizer = optimizer() if callable(optimizer) else optimizer
    values = {f"weight{i}": np.asarray(w) for i, w in enumerate(model.weights)}
    values |= {f"optimizer{i}": np.asarray(w) for i, w in enumerate(optimizer)}
    return values | rows_of(cluster)
