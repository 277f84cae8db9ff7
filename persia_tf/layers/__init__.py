"""Keras layers."""

from persia_tf.current_cluster import use_cluster as use_cluster
from persia_tf.layers.absent_ids import OOV_ID
from persia_tf.layers.casting_embedding import CastingPersiaEmbedding
from persia_tf.layers.joined_copy import JoinedCopy
from persia_tf.layers.persia_embedding import PersiaEmbedding
from persia_tf.layers.persia_embeddings import PersiaEmbeddings
from persia_tf.layers.sampling_probability import SamplingProbability

# `ptf.parallel.Towers`, which Keras needs to load a model too.
from persia_tf.layers.towers import Towers as Towers

# `ptf.use_cluster` and `ptf.rows_stay` are imported through this module, so that their
# first use also registers the layers' classes, which Keras needs to load a model.
from persia_tf.saving.contexts import rows_stay as rows_stay

__all__ = [
    "OOV_ID",
    "CastingPersiaEmbedding",
    "JoinedCopy",
    "PersiaEmbedding",
    "PersiaEmbeddings",
    "SamplingProbability",
]
