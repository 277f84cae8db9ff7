"""A server of SavedModels that speaks TensorFlow Serving's APIs.

It has persia_tf's ops, so it also serves models that TensorFlow Serving cannot load.
"""

from persia_tf.model_server import libraries

libraries.check()

from persia_tf.model_server.following import Following  # noqa: E402
from persia_tf.model_server.loading import Loaded  # noqa: E402
from persia_tf.model_server.served_model import Watcher  # noqa: E402
from persia_tf.model_server.server import ModelServer  # noqa: E402

__all__ = ["Following", "Loaded", "ModelServer", "Watcher"]
