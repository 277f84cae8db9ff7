"""Detects functions of Keras that read or write a model's weights without its rows.

These functions do not call the layer's own saving methods, so they would silently leave
out the rows. The layer looks for them on the call stack when its weights are read.
"""

from __future__ import annotations

import re
import weakref
from types import FrameType
from typing import Any

from absl import logging

from persia_tf._keras import keras
from persia_tf.layers.call_stack import KERAS_MODULE, frames_of
from persia_tf.saving.contexts import do_rows_stay

_H5_MODULE = re.compile(r".*\.(legacy_h5_format|hdf5_format)$")
_ARRAYS = ("get_weights", "set_weights")

_REMEDY = (
    "Use `save`, `save_weights` or `ptf.Table` to include the rows. (Logged once; not "
    "within `ptf.rows_stay()`.)"
)

# Models and layers for which the warning about `get_weights` or `set_weights` was
# already logged.
_told: weakref.WeakSet[Any] = weakref.WeakSet()


class WeightReaders:
    """Warns of functions that read or write a layer's weights without its rows.

    Args:
        layer: The layer's name.
    """

    def __init__(self, layer: str) -> None:
        self._layer = layer
        self._was_told = False

    def look(self) -> None:
        """Inspects the callers that read the layer's weights.

        Raises:
            NotImplementedError: if a caller saves a legacy `.h5` file.
        """
        if do_rows_stay():
            return
        arrays: FrameType | None = None
        stopping = False
        for frame in frames_of(KERAS_MODULE):
            function = frame.f_code.co_name
            if _H5_MODULE.match(frame.f_globals["__name__"]):
                self._on_h5(function)
            elif function in _ARRAYS:
                arrays = frame
            elif arrays is not None and _is_of_early_stopping(frame):
                stopping = True
        if arrays is not None:
            self._on_arrays(arrays, stopping)

    def _on_h5(self, function: str) -> None:
        if function.startswith("load"):
            self._warn("an .h5 file of this format holds the dense weights only")
        elif function.startswith("save"):
            raise NotImplementedError(
                f"layer '{self._layer}': Keras's legacy .h5 format has no place for "
                'rows. Save the model as "model.keras", or its weights as '
                '"model.weights.h5"; or save the dense weights only, within '
                "`ptf.rows_stay()`."
            )

    def _on_arrays(self, frame: FrameType, is_of_early_stopping: bool) -> None:
        # This runs for each layer of a model: log once per model.
        asked = frame.f_locals.get("self")
        if asked is None or asked in _told:
            return
        _told.add(asked)
        if is_of_early_stopping:
            logging.warning(
                "%s '%s': EarlyStopping(restore_best_weights=True) of Keras restores "
                "only the dense weights, and the rows stay those of the last epoch, so "
                "the model may be worse than in any epoch. Use "
                "ptf.callbacks.EarlyStopping, which takes the same arguments and "
                "restores the rows too. (Logged once.)",
                *(type(asked).__name__, asked.name),
            )
            return
        logging.warning(
            "%s '%s': %s() handles only the dense weights, and neither reads nor "
            "changes the rows of PersiaEmbedding layers. %s",
            *(type(asked).__name__, asked.name, frame.f_code.co_name, _REMEDY),
        )

    def _warn(self, what: str) -> None:
        if self._was_told:
            return
        self._was_told = True
        logging.warning(
            "layer '%s': %s, so its rows do not change. %s",
            *(self._layer, what, _REMEDY),
        )


def _is_of_early_stopping(frame: FrameType) -> bool:
    return isinstance(frame.f_locals.get("self"), keras.callbacks.EarlyStopping)
