"""What a step of one trainer does, whatever the number of shards."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf.layers import PersiaEmbedding, PersiaEmbeddings
from persia_tf.planning.observe import Sample
from persia_tf.planning.parts import ShardsPlan
from persia_tf.planning.traffic import chosen_steps
from persia_tf.simulation.setup import Setup


@dataclasses.dataclass(frozen=True)
class StepLoad:
    """What a step of one trainer does.

    Attributes:
        examples: Its examples.
        tables: How many tables it looks up.
        layers: How many layers look them up: a `PersiaEmbeddings` is one layer.
        ids: Its ids, with repeats.
        rows: The distinct ids of each of its lookups.
        dim: Weights per row, the mean over these rows.
        dense_bytes: The bytes of the dense gradients.
    """

    examples: float
    tables: int
    layers: int
    ids: float
    rows: float
    dim: float
    dense_bytes: int

    def setup(self, planned: ShardsPlan, **others: Any) -> Setup:
        """Returns what is simulated: one trainer, with a number of shards.

        Args:
            planned: What that number of shards has to do.
            **others: Further attributes of the set-up.
        """
        return Setup(
            shards=planned.shards,
            tables=self.tables,
            layers=self.layers,
            ids=self.ids,
            rows=self.rows,
            examples=max(1, round(self.examples)),
            dim=max(1, round(self.dim)),
            dense_bytes=self.dense_bytes,
            busiest=max(1.0, planned.busiest_ids),
            **others,
        )


def load_of(model: Any, sample: Sample) -> StepLoad:
    """Returns what a step of a model does, as a sample shows it.

    Args:
        model: The model.
        sample: What was read of a sample of its batches.
    """
    steps = chosen_steps(sample.steps)
    ids = rows = weights = 0
    for lookup in sample.lookups:
        for step in steps:
            distinct = len(np.unique(lookup.ids[step]))
            ids += len(lookup.ids[step])
            rows += distinct
            weights += distinct * lookup.dim
    dims = [lookup.dim for lookup in sample.lookups]
    return StepLoad(
        examples=sample.batch_size,
        tables=len(sample.tables),
        layers=_layers_of(model),
        ids=ids / len(steps),
        rows=rows / len(steps),
        dim=weights / rows if rows else float(np.mean(dims)),
        dense_bytes=_bytes_of(model.trainable_variables),
    )


def _layers_of(model: Any) -> int:
    """Counts the layers that make lookups. Those of features of a layer make none."""
    ours = (PersiaEmbedding, PersiaEmbeddings)
    layers = [each for each in model._flatten_layers() if isinstance(each, ours)]
    return max(1, sum(each._anchor is not None for each in layers))


def _bytes_of(variables: list[Any]) -> int:
    return sum(
        int(np.prod(each.shape)) * tf.as_dtype(each.dtype).size for each in variables
    )
