"""Trains a DLRM on Criteo's ads, and prints its test AUC on the last line."""

import argparse
import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from common import training
from common.embeddings import Settings
from common.table import Table

from criteo_dlrm import data, model, sample

_TEST_FRACTION = 0.2
STALENESS = 4
ADAGRAD = {"learning_rate": 0.04, "initial_accumulator_value": 1e-5}


def main(argv: Optional[Sequence[str]] = None) -> float:
    """Trains according to the command line, and returns the test AUC.

    Args:
        argv: the arguments; None for those of the process.
    """
    options = training.parse_options(__doc__, argv, epochs=1, batch_size=256)
    train, test = load(options)
    return training.run(
        options, settings(options.seed), train, test, model.build, STALENESS
    )


def load(options: argparse.Namespace) -> tuple[Table, Table]:
    """Returns the (training, test) tables that the command line selects."""

    def split(table):
        return table.split(_TEST_FRACTION, options.seed)

    return training.load(
        options,
        data.SOURCE,
        read=lambda directory: split(data.read(directory)),
        generate=lambda: split(sample.generate(options.seed)),
    )


def settings(seed: int) -> Settings:
    """Returns the settings of the rows."""
    return Settings("criteo", ADAGRAD, scale=0.01, seed=seed)


if __name__ == "__main__":
    main()
