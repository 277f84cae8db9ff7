"""Distribution strategies for the dense layers."""

from persia_tf.distribute.multi_worker import MultiWorkerMirroredStrategy

__all__ = ["MultiWorkerMirroredStrategy"]
