"""The training of an example on several workers: compile, fit, test AUC over all."""

import argparse

import tensorflow as tf

import persia_tf as ptf
from common.embeddings import Settings
from common.table import Table

keras = tf.keras

# Large, so that evaluating the test rows takes little time.
_EVALUATION_BATCH_SIZE = 8192


def compile_model(model: keras.Model, settings: Settings) -> None:
    """Compiles a model with what `run` needs, within the scope of its strategy.

    Args:
        model: the model.
        settings: the settings of the embedding rows.
    """
    model.compile(
        keras.optimizers.Adagrad(**settings.adagrad),  # Updates the dense part only.
        "binary_crossentropy",
        metrics=[keras.metrics.AUC(name="auc")],
    )


def run(
    options: argparse.Namespace,
    strategy: tf.distribute.Strategy,
    model: keras.Model,
    train: Table,
    test: Table,
    staleness: int,
) -> float:
    """Trains a model within the scope of its strategy.

    Returns the test AUC over all workers, which the first worker prints too.

    Args:
        options: the command line's options.
        strategy: the strategy of the workers.
        model: a model that `compile_model` has compiled.
        train: the training rows of all workers.
        test: the test rows.
        staleness: the staleness of prefetched lookups.
    """

    def own_batches(context: tf.distribute.InputContext) -> tf.data.Dataset:
        batches = train.batches(options.batch_size, shuffle_seed=options.seed)
        own = batches.shard(context.num_input_pipelines, context.input_pipeline_id)
        return ptf.data.prefetch(own.repeat(), model, staleness)

    workers = strategy.num_replicas_in_sync
    model.fit(
        strategy.distribute_datasets_from_function(own_batches),
        epochs=options.epochs,
        # tf_keras requires the same number of steps on all workers.
        steps_per_epoch=len(train) // (options.batch_size * workers),
        verbose="auto" if _is_first() else 0,
    )
    result = model.evaluate(
        test.batches(_EVALUATION_BATCH_SIZE), verbose=0, return_dict=True
    )
    if _is_first():
        print(f"test AUC {result['auc']:.4f} ({workers} workers)", flush=True)
    return result["auc"]


def _is_first() -> bool:
    return tf.distribute.cluster_resolver.TFConfigClusterResolver().task_id in (0, None)
