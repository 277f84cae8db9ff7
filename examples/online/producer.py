"""Sends clicks to Kafka at a steady rate, until it is stopped.

python examples/online/producer.py --brokers localhost:9092 --rate 1000
"""

import argparse
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import confluent_kafka

from online import children
from online.clicks import Clicks

_PAUSE_SECONDS = 0.005


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the producer.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = children.parser(__doc__)
    parser.add_argument("--rate", type=float, default=1000, help="events per second")
    parser.add_argument("--seed", type=int, default=0, help="seed of the clicks")
    produce(children.parsed(parser, argv))


def produce(options: argparse.Namespace) -> None:
    """Sends clicks."""
    producer = confluent_kafka.Producer({"bootstrap.servers": options.brokers})
    clicks = Clicks(options.seed)
    begin, sent = time.monotonic(), 0
    while True:
        seconds = time.monotonic() - begin
        for value in clicks.draw(int(seconds * options.rate) - sent, seconds):
            producer.produce(options.topic, value)
            sent += 1
        producer.poll(0)
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main()
