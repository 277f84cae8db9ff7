"""The click model's training data (Criteo-like), generated once and cached.

26 categorical features with the cardinalities of Criteo-Kaggle (those above 100,000
scaled so that all sum to 10,000,000), whose ranks follow a bounded Zipf law of exponent
1.05; 13 normally distributed floats; and labels drawn from a logistic model of ids and
floats.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np

BATCH = 4096
FEATURES = 26
DENSE = 13
DIM = 16
TOTAL_ROWS = 10_000_000
ZIPF_EXPONENT = 1.05
_LARGE = 100_000
_CARDINALITIES = (
    "1460 583 10131227 2202608 305 24 12517 633 3 93145 5683 8351593 3194 27 14992 "
    "5461306 10 5652 2173 4 7046547 18 15 286181 105 142572"
)


@dataclasses.dataclass(frozen=True)
class Batches:
    """Training data in batches.

    Attributes:
        ranks: int64 `(batches, batch, 26)`, from 0 to the vocabulary's size - 1.
        dense: float32 `(batches, batch, 13)`.
        labels: float32 `(batches, batch, 1)`.
        rows: The number of distinct ids of all features.
    """

    ranks: np.ndarray
    dense: np.ndarray
    labels: np.ndarray
    rows: int = TOTAL_ROWS

    def ids(self) -> np.ndarray:
        """Returns 63-bit non-negative ids, as a parameter server gets them."""
        return ids_of(self.ranks)

    def indices(self) -> np.ndarray:
        """Returns the ranks permuted within 0..vocabulary-1, as a Keras table needs."""
        sizes = np.array(vocabularies(self.rows))
        # Odd steps that are coprime to the size spread hot rows.
        steps = np.array([_coprime_step(size) for size in sizes])
        return self.ranks * steps % sizes

    def joined_indices(self) -> np.ndarray:
        """Returns indices in one table that has the rows of all features."""
        sizes = vocabularies(self.rows)
        return self.indices() + np.cumsum([0, *sizes[:-1]])

    def vectors(self) -> np.ndarray:
        """Returns random embeddings: float32 `(batches, batch, 26 * 16)`."""
        shape = (*self.ranks.shape[:2], FEATURES * DIM)
        return np.random.default_rng(0).random(shape, np.float32) / 10 - 0.05


def vocabularies(rows: int = TOTAL_ROWS) -> list[int]:
    """Returns each feature's number of distinct ids.

    Args:
        rows: Their sum, to which the large features are scaled.
    """
    sizes = [int(size) for size in _CARDINALITIES.split()]
    small = sum(size for size in sizes if size <= _LARGE)
    if rows <= small:
        raise ValueError(f"rows must be more than {small}: {rows} was given")
    factor = (rows - small) / sum(size for size in sizes if size > _LARGE)
    return [round(size * factor) if size > _LARGE else size for size in sizes]


def splitmix64(x: np.ndarray) -> np.ndarray:
    """Applies the output function of the splitmix64 generator to uint64 values."""
    with np.errstate(over="ignore"):
        x = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def ids_of(ranks: np.ndarray, features: np.ndarray | None = None) -> np.ndarray:
    """Returns the ids of ranks.

    Args:
        ranks: `(..., 26)`, or any shape that `features` broadcasts to.
        features: The feature of each rank. Defaults to None: the last axis of `ranks`
            is the features.
    """
    if features is None:
        features = np.arange(FEATURES)
    feature = (features + 1).astype(np.uint64) << np.uint64(48)
    mixed = splitmix64(feature | ranks.astype(np.uint64))
    return (mixed >> np.uint64(1)).astype(np.int64)


def load(batches: int = 200, batch: int = BATCH, rows: int = TOTAL_ROWS) -> Batches:
    """Returns the workload, from `$XDG_CACHE_HOME/persia_tf` if it is cached there.

    Args:
        batches: The number of batches.
        batch: The number of examples in a batch.
        rows: The number of distinct ids of all features.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    of_rows = "" if rows == TOTAL_ROWS else f"-{rows}"
    path = Path(home) / "persia_tf" / f"w1-{batches}x{batch}{of_rows}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = _make(batches, batch, rows)
        partial = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial, ranks=made.ranks, dense=made.dense, labels=made.labels)
        partial.rename(path)
    with np.load(path) as data:
        return Batches(**data, rows=rows)


def _make(batches: int, batch: int, rows: int) -> Batches:
    random = np.random.default_rng(0)
    count = batches * batch
    columns = [_zipf(random, size, count) for size in vocabularies(rows)]
    ranks = np.stack(columns, axis=-1)
    dense = random.standard_normal((count, DENSE), dtype=np.float32)
    effect = splitmix64(ids_of(ranks)) / 2.0**64
    logit = ((effect - 0.5) * 1.2).sum(axis=1) + 0.3 * dense[:, 0] - 1.0
    labels = random.random(count) < 1 / (1 + np.exp(-logit))
    return Batches(
        ranks.reshape(batches, batch, FEATURES),
        dense.reshape(batches, batch, DENSE),
        labels.astype(np.float32).reshape(batches, batch, 1),
        rows,
    )


def _zipf(random: np.random.Generator, size: int, count: int) -> np.ndarray:
    """Draws ranks, from 0 on, from a bounded Zipf law by inverting its distribution."""
    cumulative = np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -ZIPF_EXPONENT)
    drawn = random.random(count) * cumulative[-1]
    return np.searchsorted(cumulative, drawn).astype(np.int64)


def _coprime_step(size: int) -> int:
    step = 2_654_435_761 % size or 1
    while np.gcd(step, size) != 1:
        step += 1
    return step
