"""Detects calls of `keras.utils.clear_session()`, for which Keras has no hook.

Keras counts its automatic names in a dictionary that `clear_session()` discards. The
public function `get_uid` of both Keras 3 and tf_keras inserts a name into it; a weak
reference to that name tells when the dictionary is gone. If a version of Keras has no
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
    """A name that can be weakly referenced, which a plain str cannot."""


class ClearSessionWatch:
    """Calls a function whenever Keras's session is cleared.

    Args:
        tell: The function. It must not raise.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._name: weakref.ref[_Name] | None = None

    def begin(self) -> bool:
        """Starts to watch. With tf_keras, the watch ends when the session is cleared.

        It does nothing if it already watches. It does nothing on threads other than the
        main one either: Keras's dictionary of a thread is discarded with the thread.

        Returns:
            Whether it watches now.
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
        with tf.init_scope():  # The names of a graph are discarded with the graph.
            get_uid(name)
        del name
        if (name := kept()) is None:
            return False
        self._name = kept
        weakref.finalize(name, self._on_cleared).atexit = False
        return True

    def _on_cleared(self) -> None:
        self._tell()
        if IS_KERAS_3:  # tf_keras would clear a new name as well, in this same call.
            self.begin()
