"""Distribution strategies for the dense layers."""

from persia_tf.distribute.hierarchical import HierarchicalStrategy
from persia_tf.distribute.multi_worker import MultiWorkerMirroredStrategy

__all__ = ["HierarchicalStrategy", "MultiWorkerMirroredStrategy"]
