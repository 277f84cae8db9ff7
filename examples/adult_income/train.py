"""Trains a network on UCI Adult, and prints its test AUC on the last line."""

import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from common import training
from common.embeddings import Settings

from adult_income import data, model, sample

_ADAGRAD = {"learning_rate": 0.02, "initial_accumulator_value": 1e-5}


def main(argv: Optional[Sequence[str]] = None) -> float:
    """Trains according to the command line, and returns the test AUC.

    Args:
        argv: the arguments; None for those of the process.
    """
    options = training.parse_options(__doc__, argv, epochs=20, batch_size=512)
    train, test = training.load(
        options,
        data.SOURCE,
        read=data.read,
        generate=lambda: sample.generate(options.seed),
    )
    settings = Settings("adult", _ADAGRAD, scale=0.05, seed=options.seed)
    return training.run(options, settings, train, test, model.build)


if __name__ == "__main__":
    main()
