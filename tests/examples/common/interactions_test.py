"""How the vectors of features meet."""

import numpy as np
import tensorflow as tf
from common.interactions import DotInteraction


def test_each_pair_of_features_gives_its_dot_product_once():
    vectors = np.random.default_rng(0).normal(size=(5, 4, 3)).astype("float32")
    products = np.array(DotInteraction()(tf.constant(vectors)))
    pairs = [(i, j) for i in range(4) for j in range(i)]
    expected = [[one[i] @ one[j] for i, j in pairs] for one in vectors]
    np.testing.assert_allclose(products, expected, rtol=1e-5)
