"""The sets of workers that exchange something."""

from __future__ import annotations

from typing import Any

from persia_tf.distribute.hierarchical import HierarchicalStrategy
from persia_tf.layers.replicas import strategy_of
from persia_tf.parallel.members import Members


class Layout:
    """All workers, this worker's group, and its peers in the other groups.

    Args:
        strategy: The strategy. Collective.
    """

    def __init__(self, strategy: HierarchicalStrategy) -> None:
        workers, size = strategy.workers, strategy.group_size
        watchdog = strategy.watchdog
        layout = f"{workers} workers in groups of {size}"
        self.workers = Members(f"{layout}: all", workers, watchdog)
        self.group = Members(f"{layout}: group {strategy.group}", size, watchdog)
        peers = f"{layout}: peers {self.group.rank}"
        self.peers = Members(peers, strategy.groups, watchdog)


def strategy_of_model(model: Any) -> HierarchicalStrategy:
    """Returns the strategy in whose scope a model was made.

    Raises:
        ValueError: if it is not a `HierarchicalStrategy`.
    """
    strategy = strategy_of(model)
    if not isinstance(strategy, HierarchicalStrategy):
        raise ValueError(
            "`model` must be made within the scope of a "
            "`ptf.distribute.HierarchicalStrategy`. Received: a model made within the "
            f"scope of {type(strategy).__name__}"
        )
    return strategy


def check_compiled(model: Any) -> None:
    """Raises ValueError if a model is not compiled."""
    if getattr(model, "optimizer", None) is None:
        raise ValueError(
            "`model` must be compiled, since plans follow its optimizer: call "
            f"`model.compile` before. Received: model={model.name}, not compiled"
        )
