"""Keras layers."""

from persia_tf.layers.persia_embedding import PersiaEmbedding

__all__ = ["PersiaEmbedding"]
