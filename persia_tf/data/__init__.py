"""Input pipelines that look up rows before the training step that needs them."""

from persia_tf.data.prefetch import prefetch

__all__ = ["prefetch"]
