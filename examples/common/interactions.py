"""Feature interactions, for both Keras 3 and tf_keras.

For Keras 3 only, `keras_rs.layers` has such layers too (`DotInteraction`,
`FeatureCross`), which also accept the outputs of a `PersiaEmbedding`.
"""

from typing import Any

import numpy as np
import tensorflow as tf

keras = tf.keras


class DotInteraction(keras.layers.Layer):
    """The dot product of each pair of features, as in DLRM (Naumov et al., 2019).

    Input shape: `(batch, features, dim)`. Output shape: `(batch, features * (features
    - 1) / 2)`.
    """

    def call(self, vectors: Any) -> Any:
        products = tf.matmul(vectors, vectors, transpose_b=True)
        features = vectors.shape[1]
        below = np.flatnonzero(np.tril(np.ones((features, features)), -1))
        flat = tf.reshape(products, [-1, features * features])
        return tf.gather(flat, below, axis=1)
