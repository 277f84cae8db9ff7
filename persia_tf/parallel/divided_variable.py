"""A variable of which each member of a group holds one part, or all hold the whole.

Keras's layers and optimizers keep references to their variables in many places, and
find an optimizer's variables by those of the model. So a variable is not replaced:
only the storage behind it changes, between one of the whole shape and one of the shape
of this member's part. Functions that were traced in one form go on using the storage of
that form.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.resource_variable_ops import (
    ResourceVariable as _ResourceVariable,
)

from persia_tf._keras import IS_KERAS_3
from persia_tf.parallel.members import Members
from persia_tf.parallel.owned import OwnedBy
from persia_tf.parallel.whole_in_files import write_as_is, write_whole


def stored(variable: Any) -> Any:
    """Returns TensorFlow's variable behind a variable of Keras."""
    if IS_KERAS_3:
        variable = getattr(variable, "_value", variable)
    # tf_keras wraps the variables of layers in mixed precision.
    return getattr(variable, "_variable", variable)


class DividedVariable:
    """A variable under a strategy, whole at first.

    Args:
        variable: The variable: of a Keras layer, or of an optimizer.
        axis: The axis along which it is divided in equal parts, or the member that has
            the whole.
        members: The workers that have the parts.
    """

    def __init__(self, variable: Any, axis: int | OwnedBy, members: Members) -> None:
        self.variable = variable
        self.axis = axis
        self.members = members
        self._part: Any = None
        self._whole_shape: tuple[int, ...] = ()
        self.is_whole = True

    def divide(self) -> None:
        """Keeps this member's part of the whole value only. Not collective."""
        whole = np.asarray(self._storage().numpy())
        self._whole_shape = whole.shape
        part = self._part_of(tf.convert_to_tensor(whole))
        if self._part is None:
            self._part = self._new_storage(part)
        else:
            self._part.assign(part)
        self._store_in(self._part)
        write_whole(self.variable, self._part, self.whole_value, self._restore)
        self.is_whole = False

    @contextlib.contextmanager
    def as_part(self) -> Iterator[None]:
        """Within the context, divides the variable, whose value stays as it is."""
        whole, part = self._storage(), self._part
        self.divide()
        try:
            yield
        finally:
            self._store_in(whole)
            write_as_is(self.variable)
            self._part, self.is_whole = part, True

    def join(self) -> None:
        """Gathers the parts of all members. Collective."""
        whole = self.whole_value()
        self._store_in(self._new_storage(whole))
        write_as_is(self.variable)
        self.is_whole = True

    def whole_value(self) -> np.ndarray:
        """Returns the whole value. Collective, unless the variable is whole."""
        # TensorFlow may build a function when it writes a checkpoint.
        with tf.init_scope():
            value = self._storage().numpy()
            if self.is_whole:
                return value
            if isinstance(self.axis, OwnedBy):
                return self._of_owner(value)
            first = np.moveaxis(value, self.axis, 0)
            return np.moveaxis(self._collective("gather", first), 0, self.axis)

    def _restore(self, whole: tf.Tensor) -> Any:
        """Keeps this member's part of a whole value. Not collective."""
        part = self._part_of(tf.ensure_shape(whole, self._whole_shape))
        return self._storage().assign(part, read_value=False)

    def _part_of(self, whole: tf.Tensor) -> tf.Tensor:
        size, rank = self.members.size, self.members.rank
        if not isinstance(self.axis, OwnedBy):
            return tf.split(whole, size, self.axis)[rank]
        is_own = self.axis.rank(size) == rank
        return whole if is_own else tf.reshape(whole, [-1])[:0]

    def _of_owner(self, value: np.ndarray) -> np.ndarray:
        """Returns the value of the member that has it. The others add zeros."""
        summand = value if value.size else np.zeros(self._whole_shape, value.dtype)
        return self._collective("sum", summand)

    def _collective(self, operation: str, value: np.ndarray) -> np.ndarray:
        name = f"whole/{stored(self.variable).name}"
        exchange = getattr(self.members, operation)
        return exchange(tf.convert_to_tensor(value), name).numpy()

    def _storage(self) -> Any:
        return stored(self.variable)._values[0]

    def _new_storage(self, value: Any) -> Any:
        old = self._storage()
        with tf.init_scope(), tf.device(old.device):
            # Not of the type of the old one: a `tf.function` makes variables of a type
            # that can be made only there. Nor by `tf.Variable`: it asks the strategy.
            new = _ResourceVariable(
                value, dtype=old.dtype, trainable=old.trainable, name=old.name[:-2]
            )
        # Optimizers know a model's variables by this identifier.
        new._unique_id = old._unique_id
        return new

    def _store_in(self, storage: Any) -> None:
        distributed = stored(self.variable)
        storage.handle._distributed_container = weakref.ref(distributed)
        distributed._values = (storage,)
        if IS_KERAS_3:
            self.variable._shape = tuple(storage.shape)
