"""Records which ids a model's layers look up, by tracing the model."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from persia_tf.ops.bags import Bags
from persia_tf.ops.route import Route

_current = threading.local()

# The values of the core's enum `LookupUse`.
ALWAYS, IN_TRAINING, OUTSIDE = range(3)


@dataclasses.dataclass(frozen=True)
class RecordedLookup:
    """A lookup that a model would make.

    Attributes:
        route: The session and table that the lookup uses.
        trainable: Whether its rows are trained when the model is called for training.
        combiner: The combiner of its bags.
        use: Which calls of the model make this lookup: all (0), only those for training
            (1), or only those outside training (2).
    """

    route: Route
    trainable: bool
    combiner: str
    use: int = ALWAYS


class Recorder:
    """Records the lookups of a model while it is traced.

    Args:
        caller: The name of the function that traces the model, for messages.

    Attributes:
        lookups: The lookups, in the order of the calls.
        ids: A pair for each lookup: its ids (int64, any shape) and its bags' splits.
    """

    def __init__(self, caller: str) -> None:
        self._caller = caller
        self.lookups: list[RecordedLookup] = []
        self.ids: list[tuple[Any, Any]] = []
        self._graph = tf.compat.v1.get_default_graph()

    def add(
        self,
        ids: tf.Tensor,
        bags: Bags,
        route: Route,
        training: bool,
        trainable: bool,
    ) -> None:
        """Records one lookup of a layer, while the model is traced for training.

        A layer that looks up different ids outside training records those by a second
        call, with `training=False`.

        Raises:
            ValueError: if the lookup is in a graph nested in the traced graph.
                TensorFlow may cache the nested graph, whose lookup would then return
                the zeros of the recording in training too.
        """
        if tf.compat.v1.get_default_graph() is not self._graph:
            raise ValueError(
                f"layer '{route.layer}' is called within a tf.function, a condition "
                f"or a loop of the model, where `{self._caller}` cannot follow it. "
                f"Call it outside of that, or do without `{self._caller}`."
            )
        use = ALWAYS
        if route.absent.kind == "marked" and trainable:
            use = IN_TRAINING if training else OUTSIDE
        self.lookups.append(RecordedLookup(route, trainable, bags.combiner, use))
        # Bags without splits have a NumPy array here: convert it to a tensor of this
        # graph.
        self.ids.append((ids, tf.convert_to_tensor(bags.splits_input)))


@contextlib.contextmanager
def recording(caller: str = "ptf.data.prefetch") -> Iterator[Recorder]:
    """Records this thread's lookups in a `with` block; the lookups return zeros.

    Args:
        caller: The name of the function that needs the lookups, for messages.
    """
    _current.recorder = recorder = Recorder(caller)
    try:
        yield recorder
    finally:
        _current.recorder = None


def recorder() -> Recorder | None:
    """The active recorder of this thread, or None."""
    return getattr(_current, "recorder", None)
