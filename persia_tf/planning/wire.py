"""The name by which `persia_tf.simulation` still imports `persia_tf.base.wire`."""

from persia_tf.base.wire import *  # noqa: F403
