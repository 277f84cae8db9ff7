"""Generates people from a known logistic model, as a substitute for UCI Adult."""

import numpy as np
from common.generated import draw_labels, id_effects
from common.ids import string_id
from common.table import Table

from adult_income.data import CATEGORICAL, NUMERIC, standardize

_TEST_FRACTION = 1 / 3
_VALUES = 12
_EFFECT = 0.6


def generate(seed: int, rows: int = 48_000) -> tuple[Table, Table]:
    """Draws a sample with Adult's features.

    Args:
        seed: equal seeds give equal samples.
        rows: the number of people, for training and test together.

    Returns:
        (training, test) tables with the probabilities that their labels were
        drawn with.
    """
    rng = np.random.default_rng(seed)
    values = np.array([string_id(f"value {i}") for i in range(_VALUES)])
    features = {name: rng.choice(values, rows) for name in CATEGORICAL}
    features["numbers"] = rng.integers(0, 100, (rows, len(NUMERIC)))
    logits = np.full(rows, -1.0)
    for name in CATEGORICAL:
        logits += id_effects(features[name], _EFFECT, rng)[:, 0]
    weights = rng.normal(0.0, _EFFECT, len(NUMERIC))
    logits += (features["numbers"] / 50.0 - 1.0) @ weights
    table = Table(features, *draw_labels(logits, rng))
    return standardize(*table.split(_TEST_FRACTION, seed))
