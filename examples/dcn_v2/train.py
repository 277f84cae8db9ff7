"""Trains DCN-v2 on Criteo's ads with workers that divide its large dense layers."""

import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import tensorflow as tf
from common import several_workers, training
from common.embeddings import PersiaRows
from criteo_dlrm import train as criteo

import persia_tf as ptf
from dcn_v2 import model as dcn


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
    tf.keras.utils.set_random_seed(options.seed)
    train, test = criteo.load(options)
    settings = criteo.settings(options.seed)
    with strategy.scope():
        deep = (options.width, options.width, options.width // 2)
        model = dcn.build(PersiaRows(settings), deep=deep)
        several_workers.compile_model(model, settings)
        if options.whole:
            ptf.parallel.tag(model, "data", pattern="*")
        plan = ptf.parallel.plan(model, options.batch_size * strategy.workers)
        if strategy.worker == 0:
            print(plan, flush=True)
        plan.apply(model)
        return several_workers.run(
            options, strategy, model, train, test, criteo.STALENESS
        )


if __name__ == "__main__":
    main()
