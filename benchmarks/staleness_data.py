"""A click model of which the best possible loss and AUC are known, and its skew."""

from __future__ import annotations

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1] / "examples"))

from common.generated import draw_labels, id_effects
from common.metrics import roc_auc
from common.table import Table

FEATURES = 4
IDS = 4096
# The standard deviation of an id's effect on the logit. With it, the best possible AUC
# is about 0.8, as on real clicks.
_EFFECT = 0.7
_CLICK_LOGIT = -1.0
_CLIP = 1e-7


def frequencies(exponent: float, ids: int = IDS) -> np.ndarray:
    """Returns how often each id of a feature occurs: a bounded Zipf law.

    Args:
        exponent: The law's exponent; 0 makes all ids equally frequent.
        ids: The number of ids.

    Returns:
        float64 `(ids,)`, in descending order, of sum 1.
    """
    weights = np.arange(1, ids + 1) ** -float(exponent)
    return weights / weights.sum()


def click_tables(
    exponent: float, train: int, test: int, seed: int, ids: int = IDS
) -> tuple[Table, Table]:
    """Draws examples from a click model: each id adds its own weight to the logit.

    Args:
        exponent: The exponent of the Zipf law that ids follow within each feature.
        train: The number of training rows.
        test: The number of test rows.
        seed: The seed of the ids' weights, of the rows and of the labels.
        ids: The number of ids of each feature.

    Returns:
        Tables of training and of test rows, with `ids` of shape `(rows, FEATURES)`.
        They know the probabilities that labels were drawn with. No id is 0.
    """
    random = np.random.default_rng(seed)
    places = random.random((train + test, FEATURES))
    ends = frequencies(exponent, ids).cumsum()
    ranks = ends.searchsorted(places * ends[-1], side="right")
    columns = 1 + ranks + ids * np.arange(FEATURES)
    effects = id_effects(np.arange(1 + ids * FEATURES), _EFFECT, random)[:, 0]
    logits = _CLICK_LOGIT + effects[columns].sum(axis=1)
    table = Table({"ids": columns.astype(np.int64)}, *draw_labels(logits, random))
    return table.take(slice(train)), table.take(slice(train, None))


def id_frequencies(table: Table) -> list[np.ndarray]:
    """Returns the share of examples that have each id, for each column of ids.

    Padding, the id 0, is left out.

    Args:
        table: The rows.
    """
    columns = [each for each in table.features.values() if each.dtype.kind in "iu"]
    return [
        _frequencies_in(ids)
        for column in columns
        for ids in column.reshape(len(column), -1).T
    ]


def _frequencies_in(ids: np.ndarray) -> np.ndarray:
    _, counts = np.unique(ids[ids != 0], return_counts=True)
    return counts / len(ids)


def loss_of(table: Table, chances: np.ndarray) -> float:
    """Returns the mean cross entropy of predicted probabilities.

    If the table knows the probabilities of its labels, it is the expectation over these
    instead of over the labels drawn: so the noise of the labels is not in it.

    Args:
        table: The rows.
        chances: The predicted probabilities, `(rows,)`.
    """
    known = table.probabilities
    truth = np.asarray(table.labels if known is None else known, np.float64)
    chances = np.clip(np.asarray(chances, np.float64), _CLIP, 1 - _CLIP)
    return float(-(truth * np.log(chances) + (1 - truth) * np.log1p(-chances)).mean())


def best_possible(table: Table) -> dict[str, float]:
    """Returns the loss and the AUC of the truth itself; empty if it is not known."""
    if table.probabilities is None:
        return {}
    return {
        "best_loss": loss_of(table, table.probabilities),
        "best_auc": roc_auc(table.labels, table.probabilities),
    }
