"""Trains the DLRM of criteo_dlrm as one of several workers, which TF_CONFIG names."""

import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import tensorflow as tf
from common import training
from common.embeddings import PersiaRows
from criteo_dlrm import model as dlrm
from criteo_dlrm import train as criteo

import persia_tf as ptf

keras = tf.keras

_EVALUATION_BATCH_SIZE = 8192


def main(argv: Optional[Sequence[str]] = None) -> float:
    """Trains according to the command line; returns the test AUC over all workers.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = training.training_parser(__doc__, epochs=1, batch_size=256)
    options = parser.parse_args(argv)
    # Must precede all other use of TensorFlow: it connects the workers.
    strategy = ptf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(options.seed)
    train, test = criteo.load(options)
    # tf_keras requires the same number of steps on all workers.
    steps = len(train) // (options.batch_size * strategy.num_replicas_in_sync)
    with strategy.scope():
        model = dlrm.build(PersiaRows(criteo.settings(options.seed)))
        model.compile(
            keras.optimizers.Adagrad(**criteo.ADAGRAD),
            "binary_crossentropy",
            metrics=[keras.metrics.AUC(name="auc")],
        )

        def own_batches(context):
            batches = train.batches(options.batch_size, shuffle_seed=options.seed)
            own = batches.shard(context.num_input_pipelines, context.input_pipeline_id)
            return ptf.data.prefetch(own.repeat(), model, criteo.STALENESS)

        model.fit(
            strategy.distribute_datasets_from_function(own_batches),
            epochs=options.epochs,
            steps_per_epoch=steps,
            verbose="auto" if _is_first() else 0,
        )
        result = model.evaluate(
            test.batches(_EVALUATION_BATCH_SIZE), verbose=0, return_dict=True
        )
    if _is_first():
        print(
            f"test AUC {result['auc']:.4f} ({strategy.num_replicas_in_sync} workers)",
            flush=True,
        )
    return result["auc"]


def _is_first() -> bool:
    return tf.distribute.cluster_resolver.TFConfigClusterResolver().task_id in (0, None)


if __name__ == "__main__":
    main()
