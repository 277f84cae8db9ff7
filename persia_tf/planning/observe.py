"""What a sample of batches shows of each table of a model."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from persia_tf.ops.recording import OUTSIDE, RecordedLookup
from persia_tf.planning.batches import Batches


@dataclasses.dataclass(frozen=True)
class ObservedLookup:
    """A lookup that the model makes in each step.

    Attributes:
        session: The name of the session that it uses.
        table: The table's full name.
        layer: The layer's name in its route.
        dim: Weights per row.
        trained: Whether its rows are created and updated in training.
        combiner: The combiner of its bags, or "none".
        ids: For each step its ids, with repeats, in the order of the batch.
        bags: For each step the number of its bags; 0 without a combiner.
    """

    session: str
    table: str
    layer: str
    dim: int
    trained: bool
    combiner: str
    ids: list[np.ndarray]
    bags: list[int]


@dataclasses.dataclass(frozen=True)
class Sample:
    """What was read of a sample.

    Attributes:
        steps: How many batches were read.
        batch_size: The mean number of examples per batch.
        lookups: The lookups of a training step, in the model's order.
        not_taken: The features of the batches that are no inputs of the model, sorted.
    """

    steps: int
    batch_size: float
    lookups: tuple[ObservedLookup, ...]
    not_taken: tuple[str, ...]

    def of_table(self, table: tuple[str, str]) -> list[ObservedLookup]:
        """Returns the lookups of a table, which is named by its session and name."""
        return [each for each in self.lookups if (each.session, each.table) == table]

    @property
    def tables(self) -> list[tuple[str, str]]:
        """The session and full name of each table, in the model's order."""
        return list(dict.fromkeys((each.session, each.table) for each in self.lookups))


def observe(model: Any, sample: Any, steps: int | None = None) -> Sample:
    """Reads a sample, and returns the ids that the model looks up for it in training.

    Args:
        model: A Keras model.
        sample: A `tf.data.Dataset`, or an iterable, of batches as `fit` takes them.
        steps: At most how many batches are read; None for all.

    Returns:
        A `Sample`.

    Raises:
        TypeError: if `sample` is not an iterable of batches.
        ValueError: if `sample` has no example, or no end and `steps` is None; or if the
            model has none of our layers, or cannot be called with its batches.
    """
    examples: list[int] = []
    observed: list[ObservedLookup] = []
    batches = Batches(model, sample, steps)
    for size, lookups in batches.lookups():
        training = [each for each in lookups if each[0].use != OUTSIDE]
        if not observed:
            observed = [_without_steps(lookup) for lookup, _ in training]
        examples.append(size)
        for each, (_, found) in zip(observed, training):
            each.ids.append(found.ids)
            each.bags.append(found.bags)
    if not any(examples):
        raise ValueError(
            "`sample` must have at least one example, and has none. If it is an "
            "iterator that was read before, give a new one; if it is a dataset, check "
            "that its files and filters leave some examples. Received: an empty sample"
        )
    return Sample(
        steps=len(examples),
        batch_size=float(np.mean(examples)),
        lookups=tuple(observed),
        not_taken=tuple(sorted(batches.not_taken)),
    )


def _without_steps(lookup: RecordedLookup) -> ObservedLookup:
    route = lookup.route
    return ObservedLookup(
        session=route.session,
        table=route.table,
        layer=route.layer,
        dim=route.dim,
        trained=lookup.trainable,
        combiner=lookup.combiner,
        ids=[],
        bags=[],
    )
