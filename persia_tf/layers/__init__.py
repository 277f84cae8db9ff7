"""Keras layers."""

from persia_tf.layers.casting_embedding import CastingPersiaEmbedding
from persia_tf.layers.persia_embedding import PersiaEmbedding

__all__ = ["CastingPersiaEmbedding", "PersiaEmbedding"]
