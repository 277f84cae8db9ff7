"""Registers the layers with Keras once Keras and persia_tf are both imported.

`keras.models.load_model` finds only registered classes, and importing
`persia_tf.layers` registers them. That import loads TensorFlow, which the commands
(`persia ps`, `persia status`) must not load. So the layers are imported only once the
program itself has imported Keras or TensorFlow, whether before or after this package.
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
    """Imports the layers now, or as soon as Keras or TensorFlow has been imported."""
    if any(name in sys.modules for name in _FRAMEWORKS):
        _import_layers()
    else:
        sys.meta_path.insert(0, _AfterFrameworks())


def _import_layers() -> None:
    # Frameworks import one another. The layers are imported after the outermost of
    # these imports.
    modules = [sys.modules.get(name) for name in _FRAMEWORKS]
    if any(_is_being_imported(module) for module in modules if module is not None):
        return
    # An error in the layers must not make `import tensorflow` fail; using the layers
    # raises it again.
    with contextlib.suppress(Exception):
        importlib.import_module("persia_tf.layers")


def _is_being_imported(module: ModuleType) -> bool:
    return getattr(module.__spec__, "_initializing", False)


class _AfterFrameworks(importlib.abc.MetaPathFinder):
    """An import hook that imports the layers after Keras or TensorFlow.

    The other finders find these packages; the hook wraps the loader that they return.
    """

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
        # The import system clears this flag only after this function has returned,
        # which is too late for `_import_layers`.
        module.__spec__._initializing = False
        _import_layers()

    loader.exec_module = execute_and_register
