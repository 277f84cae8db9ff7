"""Trains a DIN on MovieLens 1M, and prints its test AUC on the last line."""

import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

from common import training
from common.embeddings import Settings

from din import data, model, sample

_STALENESS = 4
_ADAGRAD = {"learning_rate": 0.04, "initial_accumulator_value": 1e-5}


def main(argv: Optional[Sequence[str]] = None) -> float:
    """Trains according to the command line, and returns the test AUC.

    Args:
        argv: the arguments; None for those of the process.
    """
    options = training.parse_options(__doc__, argv, epochs=3, batch_size=1024)
    train, test = training.load(
        options,
        data.SOURCE,
        read=data.read,
        generate=lambda: sample.generate(options.seed),
    )
    settings = Settings(
        "din", _ADAGRAD, scale=0.05, seed=options.seed, tables={"history": "movie"}
    )
    return training.run(
        options, settings, train, test, model.build, staleness=_STALENESS
    )


if __name__ == "__main__":
    main()
