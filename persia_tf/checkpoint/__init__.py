"""Checkpoints: the rows of all tables, with their optimizer state."""

from persia_tf.checkpoint.compacting import compact
from persia_tf.checkpoint.restoring import restore
from persia_tf.checkpoint.saving import Save, save

__all__ = ["Save", "compact", "restore", "save"]
