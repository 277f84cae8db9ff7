"""Streams of ids, and models that look them up."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras


@pytest.fixture
def draw():
    """Draws lookups of ids by Zipf's law: as many ids each."""

    def lookups(exponent, vocabulary, count, size, seed=0):
        chances = np.arange(1, vocabulary + 1) ** -float(exponent)
        random = np.random.default_rng(seed)
        ids = random.choice(vocabulary, (count, size), p=chances / chances.sum())
        return list(ids)

    return lookups


@pytest.fixture
def make_model(table):
    """Makes a compiled model with a layer for each given dict of arguments.

    An input has the layer's name, and as many ids an example as `bag` says.
    """

    def make(*layers, cluster=None, optimizer="sgd"):
        inputs, vectors = {}, []
        for number, arguments in enumerate(layers):
            arguments = dict(arguments)
            bag = arguments.pop("bag", None)
            name = f"in{number}"
            shape = () if bag is None else (bag,)
            inputs[name] = keras.Input(shape, dtype="int64", name=name)
            arguments.setdefault("table", f"{table}_{number}")
            layer = ptf.layers.PersiaEmbedding(cluster=cluster, **arguments)
            vectors.append(layer(inputs[name]))
        joined = vectors[0]
        if len(vectors) > 1:
            joined = keras.layers.Concatenate()(vectors)
        model = keras.Model(inputs, keras.layers.Dense(1)(joined))
        model.compile(optimizer, "mse")
        return model

    return make


@pytest.fixture
def make_dataset():
    """Makes a dataset of batches, for inputs whose ids are below the given numbers."""

    def make(*vocabularies, bags=None, steps=6, batch=40, seed=0):
        random = np.random.default_rng(seed)
        features = {}
        for number, vocabulary in enumerate(vocabularies):
            bag = (bags or {}).get(number)
            shape = (steps * batch,) if bag is None else (steps * batch, bag)
            features[f"in{number}"] = random.integers(vocabulary, size=shape)
        labels = np.zeros((steps * batch, 1), np.float32)
        return tf.data.Dataset.from_tensor_slices((features, labels)).batch(batch)

    return make
