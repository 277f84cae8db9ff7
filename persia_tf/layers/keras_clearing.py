"""Tells when `keras.utils.clear_session()` is called, of which Keras tells nobody.

Keras counts the names that it makes up in a dictionary, which goes when its session is
cleared. `get_uid`, which is public in both Keras, puts a name there, and that name says
when it goes. Where a Keras keeps no such dictionary, nothing is told.
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
    """A name that can be waited for, as a plain str cannot."""


class ClearSessionWatch:
    """Calls a function whenever Keras's session is cleared.

    Args:
        tell: The function. It must not raise.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._name: weakref.ref[_Name] | None = None

    def begin(self) -> bool:
        """Watches from now on; with tf_keras, until the session is cleared.

        Does nothing while it watches, nor on another thread than the main one: what
        Keras keeps of a thread goes with it.

        Returns:
            Whether it watches.
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
        with tf.init_scope():  # Names of a graph would go with that.
            get_uid(name)
        del name
        if (name := kept()) is None:
            return False
        self._name = kept
        weakref.finalize(name, self._on_cleared).atexit = False
        return True

    def _on_cleared(self) -> None:
        self._tell()
        if IS_KERAS_3:  # The other one is about to clear whatever it finds.
            self.begin()
