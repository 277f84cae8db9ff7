"""Makes the layers known to Keras wherever both packages are imported.

`keras.models.load_model` finds classes that are registered, and importing
`persia_tf.layers` registers them. That imports TensorFlow, which the commands
(`persia ps`, `persia status`) must not: so it happens once the program itself has
imported Keras or TensorFlow, before this package or after it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_FRAMEWORKS = ("keras", "tf_keras", "tensorflow")


def register_with_keras() -> None:
    """Imports the layers now if Keras or TensorFlow is there, else after they are."""
    if any(name in sys.modules for name in _FRAMEWORKS):
        _import_layers()
    else:
        sys.meta_path.insert(0, _AfterFrameworks())


def _import_layers() -> None:
    # One of them imports another.
    modules = [sys.modules.get(name) for name in _FRAMEWORKS]
    if any(_is_being_imported(module) for module in modules if module is not None):
        return
    # What is wrong here is said where the layers are used, and not by an import of
    # TensorFlow.
    with contextlib.suppress(Exception):
        importlib.import_module("persia_tf.layers")


def _is_being_imported(module: ModuleType) -> bool:
    return getattr(module.__spec__, "_initializing", False)


class _AfterFrameworks(importlib.abc.MetaPathFinder):
    """Finds Keras and TensorFlow as others do, and imports the layers after them."""

    def __init__(self) -> None:
        self._is_searching = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _FRAMEWORKS or self._is_searching:
            return None
        self._is_searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_searching = False
        if spec is not None and spec.loader is not None:
            _call_after_execution(spec.loader)
        return spec


def _call_after_execution(loader: Any) -> None:
    execute = loader.exec_module

    def execute_and_register(module: ModuleType) -> None:
        execute(module)
        module.__spec__._initializing = False  # As it will be in a moment.
        _import_layers()

    loader.exec_module = execute_and_register
