"""Recording: tracing a model to learn which ids its layers look up."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import tensorflow as tf

if TYPE_CHECKING:
    from persia_tf.ops.bags import Bags
    from persia_tf.ops.embedding import Route

_current = threading.local()

# The core's numbers: `LookupUse`.
_ALWAYS, _IN_TRAINING, _OUTSIDE = range(3)


@dataclasses.dataclass(frozen=True)
class RecordedLookup:
    """A lookup that a model would make.

    Attributes:
        route: The session and table that it uses.
        trainable: Whether it trains its rows when the model is called for training.
        combiner: The combiner of its bags.
        use: In which calls of the model it happens: in all (0), only in training (1),
            or only outside training (2).
    """

    route: Route
    trainable: bool
    combiner: str
    use: int = _ALWAYS


class Recorder:
    """Records the lookups of a model while it is traced.

    Attributes:
        lookups: The lookups, in the order of the calls.
        ids: For each lookup, its ids, int64 of any shape, and the splits of its bags.
    """

    def __init__(self) -> None:
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
        """Records one lookup of a layer. The model is traced with `training=True`.

        A layer that looks up other ids outside training records these as well, by a
        second lookup with `training=False`.

        Raises:
            ValueError: if the lookup is in a graph nested in the traced one: a cached
                inner graph would later return the recording's zeros.
        """
        if tf.compat.v1.get_default_graph() is not self._graph:
            raise ValueError(
                f"layer '{route.layer}' is called within a tf.function, a condition "
                "or a loop of the model, where `ptf.data.prefetch` cannot follow it. "
                "Call it outside of that, or train without prefetch."
            )
        use = _ALWAYS
        if route.absent.kind == "marked" and trainable:
            use = _IN_TRAINING if training else _OUTSIDE
        self.lookups.append(RecordedLookup(route, trainable, bags.combiner, use))
        # Missing splits are a NumPy array: convert them to a tensor of this graph.
        self.ids.append((ids, tf.convert_to_tensor(bags.splits_input)))


@contextlib.contextmanager
def recording() -> Iterator[Recorder]:
    """Records the lookups of this thread in a `with` block; they return zeros."""
    _current.recorder = recorder = Recorder()
    try:
        yield recorder
    finally:
        _current.recorder = None


def recorder() -> Recorder | None:
    """The active recorder of this thread, or None."""
    return getattr(_current, "recorder", None)
