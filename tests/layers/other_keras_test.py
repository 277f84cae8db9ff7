"""A model made with the Keras that the library does not use in this process."""

import importlib

import pytest

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3


def test_a_tensor_of_the_other_keras_is_refused_with_the_remedy(table):
    other = importlib.import_module("tf_keras" if IS_KERAS_3 else "keras")
    user = other.Input((), dtype="int64")
    with pytest.raises(TypeError, match="one model cannot mix") as caught:
        ptf.layers.PersiaEmbedding(4, table=table)(user)
    assert f"a tensor of {other.__name__.partition('.')[0]}" in str(caught.value)
    assert "TF_USE_LEGACY_KERAS" in str(caught.value)
