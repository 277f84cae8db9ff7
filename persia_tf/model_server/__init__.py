"""A server of SavedModels that speaks TensorFlow Serving's APIs.

The server loads persia_tf's ops, so it also serves exports that need these ops, which
TensorFlow Serving cannot load.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from persia_tf.base import extras

if TYPE_CHECKING:
    from persia_tf.model_server.followed_versions import Following
    from persia_tf.model_server.loading import Loaded
    from persia_tf.model_server.served_model import Watcher
    from persia_tf.model_server.server import ModelServer

__all__ = ["Following", "Loaded", "ModelServer", "Watcher"]

# Installed by pip's extra `serving`.
_LIBRARIES = ("aiohttp", "prometheus_client", "tensorflow_serving.apis")

_MODULES = {
    "Following": "followed_versions",
    "Loaded": "loading",
    "ModelServer": "server",
    "Watcher": "served_model",
}


def __getattr__(name: str) -> Any:
    # The modules are imported lazily, so that `persia serve` checks its options before
    # it imports TensorFlow.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    extras.import_of("serving", "the model server needs", *_LIBRARIES)
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
