"""Runs one of the trainings that staleness_skew.py compares."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, NamedTuple

import staleness_bound
import staleness_data
from accuracy_data import DATA_SETS, directory_of

CLICKS = "clicks"
_BATCH = 32
_STEPS = 16384
_TEST_ROWS = 32768
_PREDICT_BATCH = 8192
# So many steps run between two returns to Python, which costs more than a step.
_STEPS_AT_ONCE = 64
_QUICK_STEPS = 1024
_QUICK_TEST_ROWS = 4096
_DIM = 8
_HIDDEN = 16
_ROW_SCALE = 0.05


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """What the rows of the click model are trained by.

    Attributes:
        title: The title in reports.
        name: The name of its class, for rows and for the dense part.
        row_rate: The learning rate of rows.
        dense_rate: The learning rate of the dense part.
    """

    title: str
    name: str
    row_rate: float
    dense_rate: float


OPTIMIZERS = {
    "sgd": Optimizer("SGD", "SGD", 4.0, 0.05),
    "adagrad": Optimizer("Adagrad", "Adagrad", 0.1, 0.02),
}


class RealTraining(NamedTuple):
    """How long a model is trained on real data.

    Attributes:
        batch: The number of examples of a step.
        epochs: The passes over the training rows.
    """

    batch: int
    epochs: int


# Smaller batches than in accuracy.py, so that a staleness of 1024 steps is a smaller
# part of the training.
REAL = {"movielens": RealTraining(256, 2), "criteo": RealTraining(64, 1)}


@dataclasses.dataclass(frozen=True)
class Case:
    """What determines the result of a training.

    Attributes:
        data_set: `CLICKS`, or the name of a real data set.
        exponent: The Zipf exponent of the click model's ids; None for real data.
        optimizer: The name of the rows' optimizer; real data sets have Adagrad.
        staleness: The number of steps by which updates of rows are late.
        seed: The seed of weights, rows and order.
        quick: Whether the training is only a smoke test.
    """

    data_set: str
    exponent: float | None
    optimizer: str
    staleness: int
    seed: int
    quick: bool = False

    @property
    def batch(self) -> int:
        """The number of examples of a step."""
        return _BATCH if self.data_set == CLICKS else REAL[self.data_set].batch


def train(case: Case) -> dict[str, Any]:
    """Trains one model; returns its test loss and AUC, and other figures."""
    import tensorflow as tf
    from common.metrics import roc_auc

    import persia_tf as ptf

    # Frees the model of this process's last training.
    tf.keras.backend.clear_session()
    tf.keras.utils.set_random_seed(case.seed)
    train_rows, test_rows = _load(case)
    steps = _steps(case, len(train_rows))
    cluster = ptf.Cluster.embedded(staleness=0)
    model, late = _build(case, cluster)
    # The rows of the click model are independent, and need no shuffling.
    order = None if case.data_set == CLICKS else case.seed
    dataset = train_rows.batches(case.batch, order).repeat()
    model.fit(dataset, steps_per_epoch=steps, shuffle=False, verbose=0)
    for layer in late:
        layer.drain()
    chances = model.predict(test_rows.batches(_PREDICT_BATCH), verbose=0)[:, 0]
    for layer in late:
        # The next training of this process begins with new rows.
        ptf.Table(layer.rows.table, cluster).drop()
    return {
        "loss": staleness_data.loss_of(test_rows, chances),
        "auc": roc_auc(test_rows.labels, chances),
        **staleness_data.best_possible(test_rows),
        "alphas": staleness_bound.alphas(_frequencies(case, train_rows), case.batch),
        "steps": steps,
        "batch": case.batch,
        "rows": [len(train_rows), len(test_rows)],
    }


def _load(case: Case) -> tuple[Any, Any]:
    """Returns tables whose training rows are whole batches."""
    if case.data_set == CLICKS:
        steps = _QUICK_STEPS if case.quick else _STEPS
        test = _QUICK_TEST_ROWS if case.quick else _TEST_ROWS
        return staleness_data.click_tables(
            case.exponent or 0.0, steps * _BATCH, test, case.seed
        )
    folder = directory_of(case.data_set, os.environ.get("PERSIA_TF_DATA"))
    train_rows, test_rows = DATA_SETS[case.data_set].load(folder, case.seed)
    whole = len(train_rows) // case.batch * case.batch
    return train_rows.take(slice(whole)), test_rows


def _steps(case: Case, rows: int) -> int:
    epochs = 1 if case.data_set == CLICKS else REAL[case.data_set].epochs
    steps = epochs * rows // case.batch
    if case.quick:
        steps = min(steps, _QUICK_STEPS)
    return steps // _STEPS_AT_ONCE * _STEPS_AT_ONCE


def _frequencies(case: Case, rows: Any) -> list[Any]:
    if case.data_set == CLICKS:
        return [staleness_data.frequencies(case.exponent or 0.0)]
    return staleness_data.id_frequencies(rows)


def _build(case: Case, cluster: Any) -> tuple[Any, list[Any]]:
    """Returns the compiled model, and its layers of late rows."""
    import tensorflow as tf

    if case.data_set == CLICKS:
        model, late = _click_model(case, cluster)
        rates = OPTIMIZERS[case.optimizer]
        optimizer = getattr(tf.keras.optimizers, rates.name)(rates.dense_rate)
    else:
        model, late = _real_model(case, cluster)
        adagrad = DATA_SETS[case.data_set].adagrad
        optimizer = tf.keras.optimizers.Adagrad(**adagrad)
    model.compile(
        optimizer, loss="binary_crossentropy", steps_per_execution=_STEPS_AT_ONCE
    )
    return model, late


def _click_model(case: Case, cluster: Any) -> tuple[Any, list[Any]]:
    import tensorflow as tf
    from late_rows import LateRows

    import persia_tf as ptf

    keras = tf.keras
    rates = OPTIMIZERS[case.optimizer]
    rows = ptf.layers.PersiaEmbedding(
        _DIM,
        table=CLICKS,
        optimizer=getattr(ptf.optimizers, rates.name)(rates.row_rate),
        embeddings_initializer=keras.initializers.RandomUniform(
            -_ROW_SCALE, _ROW_SCALE, seed=case.seed
        ),
        cluster=cluster,
    )
    late = LateRows(rows, case.staleness, case.batch)
    ids = keras.Input((staleness_data.FEATURES,), dtype="int64", name="ids")
    x = keras.layers.Flatten()(late(ids))
    x = keras.layers.Dense(_HIDDEN, activation="relu")(x)
    chance = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model({"ids": ids}, chance), [late]


def _real_model(case: Case, cluster: Any) -> tuple[Any, list[Any]]:
    from common.embeddings import PersiaRows, Settings
    from late_rows import LateRows

    late: list[LateRows] = []

    class LateTables(PersiaRows):
        """Makes layers of late rows, and lists them."""

        def layer(self, *arguments: Any, **options: Any) -> Any:
            rows = super().layer(*arguments, **options)
            late.append(LateRows(rows, case.staleness, case.batch))
            return late[-1]

    data = DATA_SETS[case.data_set]
    settings = Settings(case.data_set, data.adagrad, scale=data.scale, seed=case.seed)
    return data.build(LateTables(settings, cluster)), late
