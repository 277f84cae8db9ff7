"""Trains on clicks as they come from Kafka, and goes on after it was killed.

PERSIA_PS=... python examples/online/train.py --brokers localhost:9092
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import persia_tf as ptf
from online import children, model
from online.clicks import COLUMNS

_ENDLESS = 1_000_000


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the trainer.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = children.parser(__doc__)
    add = parser.add_argument
    add("--versions", help="the folder that is served; it gets a version 1")
    add("--job", default="job", help="folder of checkpoints, on the shards' machines")
    add("--bad_events", help="file of events that cannot be trained")
    add("--batch_size", type=int, default=512, help="events per step, at most")
    add(
        "--max_wait", type=float, default=0.01, help="seconds an event waits for others"
    )
    add("--save_freq", type=int, default=500, help="steps per checkpoint")
    add("--epochs", type=int, default=_ENDLESS, help="times 200 steps")
    add("--seed", type=int, default=0, help="seed of the rows")
    train(children.parsed(parser, argv))


def train(options: argparse.Namespace) -> None:
    """Trains, and exports the model before."""
    clicks = ptf.data.kafka(
        options.topic,
        options.brokers,
        options.batch_size,
        columns=COLUMNS,
        label="clicked",
        max_wait=options.max_wait,
        late_after=3600,
        bad_events=options.bad_events,
        group="online",
        # A broker answers as soon as there are events, but librdkafka's mock cluster
        # only after this time.
        config={"fetch.wait.max.ms": 5},
    )
    online = model.build(options.seed)
    job = ptf.callbacks.JobCheckpoint(
        options.job, data=clicks, save_freq=options.save_freq
    )
    job.restore(online)
    if options.versions is not None:
        version = pathlib.Path(options.versions) / "1"
        if not version.exists():
            ptf.serving.export(online, version)
    online.fit(
        ptf.data.prefetch(clicks, online, staleness=0),
        steps_per_epoch=200,
        epochs=options.epochs,
        initial_epoch=job.epoch,
        callbacks=[job],
        verbose=2,
    )


if __name__ == "__main__":
    main()
