"""The set-ups of `plan_check.py`: data, models and numbers of shards."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import numpy as np

Columns = dict[str, np.ndarray]

# Spreads small numbers over all of int64, as hashes of strings are.
_ODD = np.int64(-7046029254386353131)


@dataclasses.dataclass(frozen=True)
class Feature:
    """A feature of generated data, and its table.

    Attributes:
        exponent: The exponent of Zipf's law of its ids: 0 if all are as frequent.
        vocabulary: How many ids there are.
        options: Further arguments of the `PersiaEmbedding`.
        dim: Weights per row.
        bag: How many ids an example has, which are pooled; 0 for a single id.
        is_hashed: Whether ids are spread over 64 bits.
        table: The table's name, if it is not the feature's.
        drift: By how many ids the vocabulary moves on with each example.
    """

    exponent: float
    vocabulary: int
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    dim: int = 16
    bag: int = 0
    is_hashed: bool = False
    table: str | None = None
    drift: float = 0.0


@dataclasses.dataclass(frozen=True)
class Setup:
    """A set-up: what is trained, and on how many shards.

    Attributes:
        features: The features of generated data; or, for other data, of its columns.
        optimizer: The model's optimizer, as `compile` takes it.
        shards: How many shards there are.
        batch: Examples per step.
        steps: How many steps the run has.
        data: Reads columns; None to generate the features.
        options: Further arguments of the `Cluster`.
    """

    features: dict[str, Feature]
    optimizer: str = "sgd"
    shards: int = 2
    batch: int = 512
    steps: int = 150
    data: Callable[[], Columns] | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def columns(self, seed: int) -> Columns:
        """Returns the features of all examples of the run, in the run's order."""
        examples = self.batch * self.steps
        if self.data is not None:
            columns = self.data()
            return {name: columns[name][:examples] for name in self.features}
        draw = np.random.default_rng(seed)
        return {
            name: _generated(feature, examples, draw)
            for name, feature in self.features.items()
        }


def _generated(
    feature: Feature, examples: int, draw: np.random.Generator
) -> np.ndarray:
    shape = (examples, feature.bag) if feature.bag else (examples,)
    chances = np.arange(1, feature.vocabulary + 1) ** -float(feature.exponent)
    ends = np.cumsum(chances) / chances.sum()
    ids = np.searchsorted(ends, draw.random(shape)).astype(np.int64) + 1
    moved = (np.arange(examples) * feature.drift).astype(np.int64)
    ids += moved[:, None] if feature.bag else moved
    return ids * _ODD if feature.is_hashed else ids


def _criteo() -> Columns:
    import accuracy_data

    root = os.environ.get("PERSIA_TF_DATA")
    directory = accuracy_data.directory_of("criteo", root)
    return accuracy_data.read_criteo(directory).features


def _movielens() -> Columns:
    import accuracy_data

    root = os.environ.get("PERSIA_TF_DATA")
    directory = accuracy_data.directory_of("movielens", root)
    train, _ = accuracy_data.DATA_SETS["movielens"].load(directory, 0)
    order = np.random.default_rng(0).permutation(len(train))
    return train.take(order).features


def setups() -> dict[str, Setup]:
    """Returns all set-ups by name. The names of quick ones begin with "quick"."""
    import persia_tf as ptf

    admission, optimizers, eviction = ptf.admission, ptf.optimizers, ptf.eviction
    int8, half = {"row_dtype": "int8"}, {"row_dtype": "bfloat16"}
    twice = {"admission": admission.MinCount(2)}
    adagrad = {"optimizer": optimizers.Adagrad(0.05)}
    return {
        "quick-zipf": Setup({"user": Feature(1.05, 40_000)}, batch=256, steps=60),
        "quick-bags": Setup(
            {"user": Feature(0.7, 9_000, half, dim=8), "tags": _bag(0.9, 3_000, 5)},
            optimizer="adam",
            shards=1,
            batch=256,
            steps=60,
        ),
        "uniform": Setup({"user": Feature(0, 60_000, dim=4)}, shards=3),
        "uniform-wide": Setup(
            {"user": Feature(0, 250_000, adagrad, dim=64)}, shards=4, batch=1024
        ),
        "zipf-0.4": Setup({"user": Feature(0.4, 90_000, int8)}, "adam"),
        "zipf-0.6": Setup({"user": Feature(0.6, 150_000, half, dim=32)}, "adagrad"),
        "zipf-0.9": Setup(
            {"user": Feature(0.9, 120_000, is_hashed=True)}, "adam", shards=8
        ),
        "zipf-1.1": Setup({"user": Feature(1.1, 500_000, dim=24)}, shards=5),
        "zipf-1.25": Setup(
            {"user": Feature(1.25, 10**6, adagrad)}, shards=4, batch=2048
        ),
        "zipf-1.5": Setup({"user": Feature(1.5, 10**6)}, "adam", batch=4096),
        "drifting": Setup({"user": Feature(0.8, 20_000, drift=0.05)}, steps=200),
        "two-tables": Setup(
            {"user": Feature(0.5, 70_000, half), "item": Feature(1.0, 30_000, dim=8)},
            "adam",
            shards=3,
        ),
        "shared-table": Setup(
            {
                "item": Feature(0.95, 80_000, table="item"),
                "seen": _bag(0.95, 80_000, 6, dim=16, table="item"),
            },
            "adagrad",
        ),
        "four-tables": Setup(
            {
                "user": Feature(0.3, 50_000, int8, dim=4),
                "item": Feature(1.2, 200_000, is_hashed=True),
                "shop": Feature(0.8, 2_000, dim=64),
                "hour": Feature(0, 24, dim=4),
            },
            "adam",
            shards=6,
        ),
        "bags-pooled-by-shard": Setup(
            {"tags": _bag(0.2, 300_000, 8, dim=32)}, "adagrad", shards=1, steps=80
        ),
        "bags": Setup({"tags": _bag(1.1, 100_000, 10, dim=8)}, shards=4, steps=80),
        "twice": Setup({"user": Feature(0.7, 80_000, twice)}, "adam", batch=1024),
        "four-times": Setup(
            {"user": Feature(1.0, 60_000, {"admission": admission.MinCount(4)})},
            "adagrad",
            batch=1024,
        ),
        "bloom": Setup(
            {
                "user": Feature(
                    0.9,
                    100_000,
                    {"admission": admission.BloomMinCount(2, expected_ids=60_000)},
                )
            },
            shards=3,
        ),
        "half-of-ids": Setup(
            {"user": Feature(0.5, 90_000, {"admission": admission.Probability(0.5)})},
            "adam",
        ),
        "capacity": Setup(
            {"user": Feature(0.6, 90_000, {"capacity": 20_000})}, "adagrad"
        ),
        "lifetime": Setup(
            {"user": Feature(0.6, 60_000, {"eviction": eviction.TTL(steps=40)})}
        ),
        "float16-wire": Setup(
            {"user": Feature(1.0, 90_000, dim=32)},
            "adam",
            options={"wire_dtype": "float16"},
        ),
        "int8-wire": Setup(
            {"user": Feature(0.7, 90_000, dim=64, is_hashed=True)},
            "adagrad",
            shards=3,
            options={"wire_dtype": "int8"},
        ),
        "criteo": Setup(
            {f"C{i}": Feature(1, 1, dim=8) for i in range(1, 27)},
            "adagrad",
            batch=512,
            steps=260,
            data=_criteo,
        ),
        "criteo-twice": Setup(
            {f"C{i}": Feature(1, 1, twice, dim=4) for i in (3, 4, 7, 10, 12, 15, 26)},
            "adam",
            batch=256,
            steps=500,
            data=_criteo,
            shards=3,
        ),
        "movielens": Setup(
            {
                "user": Feature(1, 1),
                "movie": Feature(1, 1, dim=32),
                "zip": Feature(1, 1, dim=8),
                "age": Feature(1, 1, dim=4),
            },
            "adam",
            batch=512,
            steps=200,
            data=_movielens,
        ),
    }


def _bag(
    exponent: float, vocabulary: int, size: int, dim: int = 16, table: str | None = None
) -> Feature:
    options = {"combiner": "mean"}
    return Feature(exponent, vocabulary, options, dim, bag=size, table=table)
