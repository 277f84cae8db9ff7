"""Trains the DLRM of criteo_dlrm as one of several workers, which TF_CONFIG names."""

import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import tensorflow as tf
from common import several_workers, training
from common.embeddings import PersiaRows
from criteo_dlrm import model as dlrm
from criteo_dlrm import train as criteo

import persia_tf as ptf


def main(argv: Optional[Sequence[str]] = None) -> float:
    """Trains according to the command line; returns the test AUC over all workers.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = training.training_parser(__doc__, epochs=1, batch_size=256)
    options = parser.parse_args(argv)
    # Must precede all other use of TensorFlow: it connects the workers.
    strategy = ptf.distribute.MultiWorkerMirroredStrategy()
    tf.keras.utils.set_random_seed(options.seed)
    train, test = criteo.load(options)
    settings = criteo.settings(options.seed)
    with strategy.scope():
        model = dlrm.build(PersiaRows(settings))
        several_workers.compile_model(model, settings)
        return several_workers.run(
            options, strategy, model, train, test, criteo.STALENESS
        )


if __name__ == "__main__":
    main()
