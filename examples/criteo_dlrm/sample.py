"""Generates ads from a known logistic model, as a substitute for Criteo's."""

import numpy as np
from common.generated import draw_labels, id_effects
from common.ids import string_id
from common.table import Table

from criteo_dlrm.data import CATEGORICAL, COUNTS, shorten

_EFFECT = 0.35
_VALUES = 40
# The number of features that the labels depend on; the others are noise.
_TELLING = 8


def generate(seed: int, rows: int = 120_000) -> Table:
    """Draws a sample with the features of Criteo's data.

    Args:
        seed: equal seeds give equal samples.
        rows: the number of ads.

    Returns:
        A table with the probabilities that its labels were drawn with.
    """
    rng = np.random.default_rng(seed)
    values = np.array([string_id(f"{i:08x}") for i in range(_VALUES)])
    popularity = 1.0 / np.arange(1, _VALUES + 1)
    popularity /= popularity.sum()
    features = {
        name: rng.choice(values, rows, p=rng.permutation(popularity))
        for name in CATEGORICAL
    }
    features["numbers"] = shorten(rng.geometric(0.1, (rows, len(COUNTS))) - 1)
    logits = np.full(rows, -1.0)
    for name in CATEGORICAL[:_TELLING]:
        logits += id_effects(features[name], _EFFECT, rng)[:, 0]
    weights = rng.normal(0.0, _EFFECT, len(COUNTS))
    logits += (features["numbers"] - features["numbers"].mean(axis=0)) @ weights
    return Table(features, *draw_labels(logits, rng))
