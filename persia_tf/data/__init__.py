"""Input pipelines that look rows up ahead of the step."""

from persia_tf.data.prefetch import prefetch

__all__ = ["prefetch"]
