"""What the logQ correction of in-batch negatives changes, on MovieLens-1M.

    PERSIA_TF_DATA=... python benchmarks/log_q.py
    PERSIA_TF_DATA=... python benchmarks/log_q.py --epochs 20 --seeds 3

A two-tower model learns from ratings above 3 stars; each user's last such rating is for
testing. The scores of the batch's items are trained uncorrected ("none"), corrected by
shares counted in the data before training ("data"), and corrected by the shares of
`ptf.layers.SamplingProbability` ("training"). The figures are:

    recall_10, recall_100  the share of users whose test item is among the best 10 or
                           100 items that they did not rate in training
    count                  the median number of ratings of the best 10 items
    distinct               the number of items that are among any user's best 10

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import keras
import keras_rs
import numpy as np
import tensorflow as tf

import persia_tf as ptf

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "examples"))
from common import locate
from movielens.data import NEUTRAL, SOURCE, read_ratings

BATCH = 1024
DIM = 32
TEMPERATURE = 0.1
CORRECTIONS = ("none", "data", "training")


class Likes(NamedTuple):
    """Ratings above 3 stars: the users and items of each."""

    user: np.ndarray
    item: np.ndarray


def read() -> tuple[Likes, Likes]:
    """Returns the likes for training, and the last one of each user."""
    folder = locate.directory(SOURCE)
    user, item, rating, time = read_ratings(folder / "ratings.dat")
    liked = rating > NEUTRAL
    order = np.lexsort((time[liked], user[liked]))
    user, item = user[liked][order], item[liked][order]
    is_last = np.append(user[1:] != user[:-1], True)
    return Likes(user[~is_last], item[~is_last]), Likes(user[is_last], item[is_last])


def batches(likes: Likes, share: np.ndarray, seed: int) -> tf.data.Dataset:
    """Returns batches of likes; each epoch has the same ones in another order."""
    order = np.random.default_rng(seed).permutation(len(likes.user))
    order = order[: len(order) // BATCH * BATCH].reshape(-1, BATCH)
    user, item = likes.user[order], likes.item[order]
    data = {"user": user, "item": item, "share": share[item]}
    return tf.data.Dataset.from_tensor_slices(data).shuffle(len(order), seed=seed)


def tower(table: str) -> keras.Model:
    ids = keras.Input((), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(DIM, table=table)(ids)
    unit = keras.layers.UnitNormalization()(keras.layers.Dense(DIM)(vectors))
    return keras.Model(ids, unit)


class TwoTower(keras.Model):
    """Scores the items of a batch for each user of the batch."""

    def __init__(self, correction: str, prefix: str) -> None:
        super().__init__()
        self.user_tower = tower(f"{prefix}_user")
        self.item_tower = tower(f"{prefix}_item")
        self.correct = keras_rs.layers.SamplingProbabilityCorrection(epsilon=1e-12)
        self.correction = correction
        self.probability = ptf.layers.SamplingProbability(table=f"{prefix}_counts")

    def call(self, likes: dict[str, tf.Tensor], training: bool | None = None) -> Any:
        users = self.user_tower(likes["user"], training=training)
        items = self.item_tower(likes["item"], training=training)
        scores = tf.matmul(users, items, transpose_b=True) / TEMPERATURE
        if self.correction == "data":
            scores = self.correct(scores, likes["share"])
        if self.correction == "training":
            share = self.probability(likes["item"], training=training)
            scores = self.correct(scores, share)
        return scores

    def compute_loss(self, x: Any, y: Any, y_pred: Any, *_: Any, **__: Any) -> Any:
        own = tf.eye(tf.shape(y_pred)[0])
        same = tf.cast(x["item"][:, None] == x["item"][None, :], tf.float32)
        scores = y_pred - 1e9 * (same - own)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(own, scores))


def best_items(model: TwoTower, users: np.ndarray, train: Likes) -> np.ndarray:
    """Returns the best 100 items for each user, without those of training."""
    items = np.unique(train.item)
    of_items = model.item_tower.predict(items, batch_size=4096, verbose=0)
    of_users = model.user_tower.predict(users, batch_size=4096, verbose=0)
    scores = of_users @ of_items.T
    known = np.isin(train.user, users)
    rows = np.searchsorted(users, train.user[known])
    scores[rows, np.searchsorted(items, train.item[known])] = -np.inf
    return items[np.argsort(-scores, axis=1)[:, :100]]


def run(correction: str, seed: int, epochs: int) -> dict[str, float]:
    """Trains and tests once."""
    keras.utils.set_random_seed(seed)
    train, test = read()
    counts = np.bincount(train.item)
    share = (counts / counts.sum()).astype(np.float32)
    model = TwoTower(correction, f"{correction}_{seed}")
    model.compile(keras.optimizers.Adam(3e-3))
    data = ptf.data.prefetch(batches(train, share, seed), model)
    model.fit(data, epochs=epochs, verbose=0)
    best = best_items(model, test.user, train)
    hits = best == test.item[:, None]
    return {
        "recall_10": float(hits[:, :10].any(axis=1).mean()),
        "recall_100": float(hits.any(axis=1).mean()),
        "count": float(np.median(counts[best[:, :10]])),
        "distinct": len(np.unique(best[:, :10])),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    results = {}
    for correction in CORRECTIONS:
        runs = [run(correction, seed, options.epochs) for seed in range(options.seeds)]
        means = {key: float(np.mean([each[key] for each in runs])) for key in runs[0]}
        results[correction] = {key: round(mean, 4) for key, mean in means.items()}
        print(correction, results[correction], flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
