"""How the layers of Keras are divided; each module registers those that it divides."""

from persia_tf.parallel.splitting import (
    attention,
    cross,
    dense,
    einsum_dense,
    embedding,
    towers,
)

__all__ = ["attention", "cross", "dense", "einsum_dense", "embedding", "towers"]
