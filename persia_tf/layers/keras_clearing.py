"""Detects calls of `keras.utils.clear_session()`, for which Keras has no hook.

Keras counts its automatic names in a dictionary that `clear_session()` discards. The
public function `get_uid` of both Keras 3 and tf_keras inserts a name into it; a weak
reference to that name shows when the dictionary is gone. If a version of Keras has no
such dictionary, calls are not detected.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras

_numbers = itertools.count(1)


class _Name(str):
    """A subclass of str, since weak references to a plain str are impossible."""


class ClearSessionWatch:
    """Calls a function whenever Keras's session is cleared.

    Args:
        tell: The function to call. It must not raise.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._name: weakref.ref[_Name] | None = None

    def begin(self) -> bool:
        """Starts to watch, unless the watch has already begun.

        With tf_keras, the watch ends when the session is cleared. Only the main thread
        can start the watch: Keras has one dictionary per thread, which it discards when
        the thread ends.

        Returns:
            Whether the session is being watched now.
        """
        if self._name is not None and self._name() is not None:
            return True
        if threading.current_thread() is not threading.main_thread():
            return False
        get_uid = getattr(keras.backend, "get_uid", None)
        if get_uid is None:
            return False
        name = _Name(f"persia_tf_session_{next(_numbers)}")
        kept = weakref.ref(name)
        # Insert the name outside of graphs: Keras discards a graph's names with the
        # graph.
        with tf.init_scope():
            get_uid(name)
        del name
        if (name := kept()) is None:
            return False
        self._name = kept
        weakref.finalize(name, self._on_cleared).atexit = False
        return True

    def _on_cleared(self) -> None:
        self._tell()
        # With tf_keras, this `clear_session()` would discard the new name too, so the
        # watch begins again when the next layer is built.
        if IS_KERAS_3:
            self.begin()
