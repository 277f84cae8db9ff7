"""Checkpoints: the rows of all tables, with their optimizer state."""

from persia_tf.checkpoint.compacting import compact
from persia_tf.checkpoint.restoring import read_extra, restore
from persia_tf.checkpoint.saving import Save, save

__all__ = ["Save", "compact", "read_extra", "restore", "save"]
