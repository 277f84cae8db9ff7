"""How the layers of Keras are divided; each module registers those that it divides."""

from persia_tf.parallel.splitting import attention, dense, einsum_dense, embedding

__all__ = ["attention", "dense", "einsum_dense", "embedding"]
