"""A server of SavedModels that speaks TensorFlow Serving's APIs.

It has persia_tf's ops, so it also serves models that TensorFlow Serving cannot load.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from persia_tf.model_server.following import Following
    from persia_tf.model_server.loading import Loaded
    from persia_tf.model_server.served_model import Watcher
    from persia_tf.model_server.server import ModelServer

__all__ = ["Following", "Loaded", "ModelServer", "Watcher"]

_MODULES = {
    "Following": "following",
    "Loaded": "loading",
    "ModelServer": "server",
    "Watcher": "served_model",
}


def __getattr__(name: str) -> Any:
    # Lazy, since `persia serve` checks its options before it imports TensorFlow.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from persia_tf.model_server import libraries

    libraries.check()
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
