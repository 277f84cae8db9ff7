"""The command line of an example, and its run: data, fit, test AUC."""

import argparse
import json
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, Optional

import tensorflow as tf

from common import locate
from common.embeddings import KINDS, Settings
from common.metrics import roc_auc
from common.table import Table

keras = tf.keras

# Large, so that predicting the test rows takes little time.
_PREDICT_BATCH_SIZE = 8192


def parse_options(
    description: str,
    argv: Optional[Sequence[str]],
    *,
    epochs: int,
    batch_size: int,
) -> argparse.Namespace:
    """Returns the options of an example's command line.

    Args:
        description: the description of the example.
        argv: the arguments; None for those of the process.
        epochs: the default of `--epochs`.
        batch_size: the default of `--batch_size`.
    """
    parser = training_parser(description, epochs=epochs, batch_size=batch_size)
    add = parser.add_argument
    add(
        "--embedding",
        choices=sorted(KINDS),
        default="persia",
        help="whose embedding layer",
    )
    add("--json", metavar="FILE", help="also write the result to this file")
    return parser.parse_args(argv)


def training_parser(
    description: str, *, epochs: int, batch_size: int
) -> argparse.ArgumentParser:
    """Returns a parser of the options that say what to train on, and how long."""
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data", metavar="DIR", help="folder of the data set")
    source.add_argument(
        "--generated", action="store_true", help="train on a generated sample"
    )
    add("--epochs", type=_positive, default=epochs, help="passes over the data")
    add("--batch_size", type=_positive, default=batch_size, help="rows per step")
    add("--rows", type=_positive, help="train on this many rows only")
    add(
        "--seed",
        type=int,
        default=0,
        help="seed of the split, the weights and the order",
    )
    return parser


def load(
    options: argparse.Namespace,
    source: locate.Source,
    read: Callable[[pathlib.Path], tuple[Table, Table]],
    generate: Callable[[], tuple[Table, Table]],
) -> tuple[Table, Table]:
    """Returns (training, test) tables: of the source if available, else generated.

    Args:
        options: the command line's options.
        source: the data set.
        read: reads the data set from its directory.
        generate: generates a sample as a substitute.
    """
    directory = None
    if not options.generated:
        directory = locate.directory(source, options.data)
    train, test = generate() if directory is None else read(directory)
    if options.rows and options.rows < len(train):
        test = test.take(slice(round(len(test) * options.rows / len(train))))
        train = train.take(slice(options.rows))
    if directory is not None:
        print(f"{source.name}: {directory}")
    else:
        print(
            f"{source.name}: training on a sample that a known model generated, not "
            "on the real data (give its folder as --data DIR). The best test AUC that "
            f"this sample allows is {_best_auc(test):.4f}."
        )
    print(f"{len(train):,} training rows, {len(test):,} test rows")
    return train, test


def run(
    options: argparse.Namespace,
    settings: Settings,
    train: Table,
    test: Table,
    build: Callable[[Any], Any],
    staleness: Optional[int] = None,
) -> float:
    """Trains a model, and prints and returns its test AUC.

    Args:
        options: the command line's options.
        settings: the settings of the embedding rows.
        train: the training rows.
        test: the test rows.
        build: takes a `PersiaRows` or a `KerasRows` and returns the model.
        staleness: the staleness of prefetched lookups; None disables prefetching.
    """
    keras.utils.set_random_seed(options.seed)
    rows = KINDS[options.embedding](settings)
    train, test = rows.encode(train, test)
    model = build(rows)
    model.compile(
        # With PERSIA, this updates the dense part only.
        optimizer=keras.optimizers.Adagrad(**settings.adagrad),
        loss="binary_crossentropy",
    )
    batches = train.batches(options.batch_size, shuffle_seed=options.seed)
    if staleness is not None and options.embedding == "persia":
        import persia_tf as ptf  # Not needed for the check with Keras.

        batches = ptf.data.prefetch(batches, model, staleness)
    model.fit(
        batches,
        epochs=options.epochs,
        shuffle=False,  # The batches are shuffled already.
    )
    scores = model.predict(test.batches(_PREDICT_BATCH_SIZE), verbose=0)
    auc = roc_auc(test.labels, scores[:, 0])
    _report(options, train, test, auc)
    return auc


def _report(options: argparse.Namespace, train: Table, test: Table, auc: float) -> None:
    best = None if test.probabilities is None else _best_auc(test)
    if options.json:
        result = {
            "embedding": options.embedding,
            "training_rows": len(train),
            "test_auc": auc,
            "best_auc": best,
        }
        pathlib.Path(options.json).write_text(json.dumps(result) + "\n")
    notes = [] if best is None else [f"generated sample, at most {best:.4f}"]
    if options.embedding == "persia":
        notes.append("to compare with Keras's layer: --embedding keras")
    else:
        notes.append("with Keras's layer")
    print(f"test AUC {auc:.4f} ({'; '.join(notes)})", flush=True)


def _best_auc(test: Table) -> float:
    return roc_auc(test.labels, test.probabilities)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value
