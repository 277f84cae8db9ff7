"""Trains DCN-v2 on Criteo's ads with workers that divide its large dense layers."""

import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import tensorflow as tf
from common import training
from common.embeddings import PersiaRows
from criteo_dlrm import train as criteo

import persia_tf as ptf
from dcn_v2 import model as dcn

keras = tf.keras

_EVALUATION_BATCH_SIZE = 8192


def main(argv: Optional[Sequence[str]] = None) -> float:
    """Trains according to the command line; returns the test AUC over all workers.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = training.training_parser(__doc__, epochs=1, batch_size=128)
    parser.add_argument("--group_size", type=int, help="workers in a group (all)")
    parser.add_argument("--width", type=int, default=1024, help="of the deep network")
    parser.add_argument("--whole", action="store_true", help="divide no layer")
    options = parser.parse_args(argv)
    # Must precede all other use of TensorFlow: it connects the workers.
    strategy = ptf.distribute.HierarchicalStrategy(options.group_size)
    keras.utils.set_random_seed(options.seed)
    train, test = criteo.load(options)
    batch_size = options.batch_size * strategy.workers
    steps = len(train) // batch_size
    with strategy.scope():
        deep = (options.width, options.width, options.width // 2)
        model = dcn.build(PersiaRows(criteo.settings(options.seed)), deep=deep)
        model.compile(
            keras.optimizers.Adagrad(**criteo.ADAGRAD),
            "binary_crossentropy",
            metrics=[keras.metrics.AUC(name="auc")],
        )
        if options.whole:
            ptf.parallel.tag(model, "data", pattern="*")
        plan = ptf.parallel.plan(model, batch_size)
        if strategy.worker == 0:
            print(plan, flush=True)
        plan.apply(model)

        def own_batches(context):
            batches = train.batches(options.batch_size, shuffle_seed=options.seed)
            own = batches.shard(context.num_input_pipelines, context.input_pipeline_id)
            return ptf.data.prefetch(own.repeat(), model, criteo.STALENESS)

        model.fit(
            strategy.distribute_datasets_from_function(own_batches),
            epochs=options.epochs,
            steps_per_epoch=steps,
            verbose="auto" if strategy.worker == 0 else 0,
        )
        result = model.evaluate(
            test.batches(_EVALUATION_BATCH_SIZE), verbose=0, return_dict=True
        )
    if strategy.worker == 0:
        print(f"test AUC {result['auc']:.4f} ({strategy.workers} workers)", flush=True)
    return result["auc"]


if __name__ == "__main__":
    main()
