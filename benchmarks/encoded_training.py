"""One worker of encoded_accuracy.py: trains models, with what workers send encoded.

TF_CONFIG names the workers. Each training ends with a line that is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import encoded_models
from accuracy_data import DATA_SETS, directory_of

WORKERS = 2
# The layers of the network over the embedded features, and how they are placed. The
# gradients of the first one are summed over the workers: a bucket of at least 18,000
# numbers. The activations of the second and third one are exchanged.
HIDDEN = (256, 256, 128)
AXES = (None, "columns", "rows")
PREDICT_BATCH = 8192
QUICK_ROWS = 4096
_TIMEOUT_SECONDS = 300

Encoding = tuple[str, Mapping[str, Any]]


class Mode(NamedTuple):
    """How a model is trained.

    Attributes:
        title: The title in reports.
        gradients: The class of the encoding of gradients, and its arguments; or None.
        activations: The same for activations of divided layers.
    """

    title: str
    gradients: Encoding | None = None
    activations: Encoding | None = None


_FLOAT16: Encoding = ("Float16", {})
_INT8: Encoding = ("Int8", {})
_THRESHOLD: Encoding = ("Threshold", {})

# "again" is "none" once more: it shows how far equal trainings differ, in which updates
# of rows arrive in different orders.
MODES = {
    "none": Mode("float32"),
    "again": Mode("float32, again"),
    "float16": Mode("Float16 gradients", _FLOAT16),
    "int8": Mode("Int8 gradients", _INT8),
    "int8_all": Mode("Int8 gradients and activations", _INT8, _INT8),
    "threshold": Mode("Threshold gradients", _THRESHOLD),
    "threshold_all": Mode("Threshold gradients and activations", *2 * [_THRESHOLD]),
}


def train(
    strategy: Any, name: str, mode: Mode, seed: int, tables: Sequence[Any], shard: str
) -> dict[str, Any]:
    """Trains one model as one of the workers; returns its test AUC and other facts.

    Args:
        strategy: The strategy of the workers.
        name: The data set's name.
        mode: How the model is trained.
        seed: The seed of weights, rows and batches.
        tables: The training and the test rows.
        shard: The address of a shard without rows.
    """
    import tensorflow as tf

    import persia_tf as ptf

    train_rows, test_rows = tables
    batch = DATA_SETS[name].batch
    steps = DATA_SETS[name].epochs * (len(train_rows) // batch)
    tf.keras.utils.set_random_seed(seed)
    with strategy.scope():
        cluster = ptf.Cluster([shard], staleness=0)
        model = encoded_models.build(name, cluster, seed, HIDDEN)
        applied = _apply(model, mode, batch)

        def own_batches(context: tf.distribute.InputContext) -> tf.data.Dataset:
            batches = train_rows.batches(batch // WORKERS, seed)
            own = batches.shard(context.num_input_pipelines, context.input_pipeline_id)
            return own.repeat()

        began = time.monotonic()
        model.fit(
            strategy.distribute_datasets_from_function(own_batches),
            steps_per_epoch=steps,
            verbose=0,
        )
        seconds = time.monotonic() - began
        applied.remove()
    return {
        # The others go on, and wait for the first worker.
        "auc": _auc(model, test_rows) if strategy.worker == 0 else None,
        "steps": steps,
        "rows": [len(train_rows), len(test_rows)],
        "batch": batch,
        "step_ms": 1e3 * seconds / steps,
    }


def _strategy() -> Any:
    import tensorflow as tf

    import persia_tf as ptf

    return ptf.distribute.HierarchicalStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(
            timeout_seconds=_TIMEOUT_SECONDS
        )
    )


def _load(name: str, seed: int, quick: bool) -> Sequence[Any]:
    """Returns the training and the test table."""
    folder = directory_of(name, os.environ.get("PERSIA_TF_DATA"))
    tables = DATA_SETS[name].load(folder, seed)
    return [table.take(slice(QUICK_ROWS)) for table in tables] if quick else tables


def _apply(model: Any, mode: Mode, batch: int) -> Any:
    """Divides and encodes as `AXES` and the mode say; returns the applied plan."""
    import tensorflow as tf

    import persia_tf as ptf

    dense = [each for each in model.layers if isinstance(each, tf.keras.layers.Dense)]
    # The network's layers are followed by others, such as the last one.
    for layer, axis in zip(dense, (*AXES, *[None] * len(dense))):
        ptf.parallel.tag(layer, "model" if axis else "data", axis=axis)
    plan = ptf.parallel.plan(model, batch, verbose=0)
    plan = plan.encode(_encoding(mode.gradients), _encoding(mode.activations))
    return plan.apply(model)


def _encoding(encoding: Encoding | None) -> Any:
    import persia_tf as ptf

    return encoding and getattr(ptf.parallel, encoding[0])(**encoding[1])


def _auc(model: Any, test_rows: Any) -> float:
    """Returns the test AUC. The model must be whole; this worker computes it alone."""
    import numpy as np
    import tensorflow as tf
    from common.metrics import roc_auc

    score = tf.function(lambda features: model(features, training=False))
    scores = [
        score(features).numpy()[:, 0]
        for features, _ in test_rows.batches(PREDICT_BATCH)
    ]
    return roc_auc(test_rows.labels, np.concatenate(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data-set", choices=DATA_SETS, required=True)
    add("--modes", nargs="+", choices=MODES, required=True)
    add("--shards", nargs="+", required=True, help="an address for each mode")
    add("--seed", type=int, required=True)
    add("--core", type=int, required=True)
    add("--quick", action="store_true")
    arguments = parser.parse_args()
    # Set before TensorFlow counts the cores, by which it sizes its thread pools.
    os.sched_setaffinity(0, {arguments.core})
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    strategy = _strategy()
    name, seed = arguments.data_set, arguments.seed
    tables = _load(name, seed, arguments.quick)
    for mode, shard in zip(arguments.modes, arguments.shards):
        figures = train(strategy, name, MODES[mode], seed, tables, shard)
        print(json.dumps({"mode": mode, "figures": figures}), flush=True)
    os._exit(0)  # Without waiting for the other worker's server.


if __name__ == "__main__":
    main()
