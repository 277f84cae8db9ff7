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

# As the core numbers them: `LookupUse`.
_ALWAYS, _IN_TRAINING, _OUTSIDE = range(3)


@dataclasses.dataclass(frozen=True)
class RecordedLookup:
    """A lookup that a model would make.

    Attributes:
        route: Where it goes.
        trainable: Whether it is for training where the model is.
        combiner: Of its bags.
        use: When it makes it: whatever it is called for (0), in training (1), or
            outside of it (2).
    """

    route: Route
    trainable: bool
    combiner: str
    use: int = _ALWAYS


class Recorder:
    """What a model looked up while it was traced.

    Attributes:
        lookups: In the order of the calls.
        ids: Of each lookup: int64, any shape; and the splits of its bags.
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
        """Notes one lookup, of a layer that is called as for training.

        A layer that looks up other ids outside of training shows these as well, by
        a lookup that is not for training.

        Raises:
            ValueError: if it is made in a graph within the one that is traced: that
                one would keep the zeros for good.
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
        # Where there are none, they are of no graph.
        self.ids.append((ids, tf.convert_to_tensor(bags.splits_input)))


@contextlib.contextmanager
def recording() -> Iterator[Recorder]:
    """While it lasts, lookups of this thread are noted, and give zeros."""
    _current.recorder = recorder = Recorder()
    try:
        yield recorder
    finally:
        _current.recorder = None


def recorder() -> Recorder | None:
    """The recorder of this thread, if it is recording."""
    return getattr(_current, "recorder", None)
