"""Models that do not say whether they are called for training."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

IDS = np.arange(8)


class Plain(keras.Model):
    """Its `call` does not take `training`, as in most models."""

    def __init__(self, table):
        super().__init__()
        self.rows = ptf.layers.PersiaEmbedding(
            1, table=table, embeddings_initializer="ones"
        )

    def call(self, inputs):
        return self.rows(inputs)


class OwnLoss(Plain):
    """The loss calls the layers without `training`, as in retrieval models."""

    def train_step(self, data):
        ids, _ = data
        with tf.GradientTape() as tape:
            loss = self.own_loss(ids)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}

    def own_loss(self, ids):
        return tf.reduce_mean(self.rows(ids))


class Passing(Plain):
    """Its `call` takes `training`, and passes it on."""

    def call(self, inputs, training=None):
        return self.rows(inputs, training=training)


def step_of_own_loop(model, **options):
    optimizer = keras.optimizers.SGD(1.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(IDS, **options))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


@pytest.mark.parametrize("eagerly", [False, True], ids=["graph", "eager"])
@pytest.mark.parametrize("cls", [Plain, OwnLoss])
def test_fit_trains_and_evaluate_does_not(cls, eagerly, table):
    model = cls(table)
    model.compile(keras.optimizers.SGD(8.0), "mae", run_eagerly=eagerly)
    targets = np.zeros((8, 1))
    model.fit(IDS, targets, batch_size=8, verbose=0)
    ptf.flush()
    np.testing.assert_array_equal(ptf.Table(table).lookup(IDS), np.zeros((8, 1)))
    model.predict(IDS + 100, verbose=0)
    model.evaluate(IDS + 200, targets, verbose=0)
    assert len(ptf.Table(table)) == 8


@pytest.mark.parametrize("cls", [Plain, Passing])
def test_a_plain_call_trains_in_a_train_step_only(cls, table):
    model = cls(table)
    model(IDS + 100)
    assert len(ptf.Table(table)) == 0
    with pytest.raises(tf.errors.FailedPreconditionError, match="for training if"):
        step_of_own_loop(model)

    def train_step():
        step_of_own_loop(model)

    train_step()
    assert len(ptf.Table(table)) == 8


def test_what_a_call_is_told_counts_more_than_a_train_step(table):
    model = Passing(table)
    step_of_own_loop(model, training=True)
    assert len(ptf.Table(table)) == 8

    def train_step():
        return model(IDS + 100, training=False)

    np.testing.assert_array_equal(train_step(), np.zeros((8, 1)))
    assert len(ptf.Table(table)) == 8


def test_embeddings_say_what_takes_their_place(table):
    layer = ptf.layers.PersiaEmbedding(1, table=table)
    with pytest.raises(AttributeError, match=r"layer\.rows\.lookup"):
        layer.embeddings  # noqa: B018
    assert not hasattr(layer, "embeddings")
