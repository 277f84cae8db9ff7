"""Measures how long it takes from an event to a prediction that it has changed.

python examples/online/freshness.py --brokers localhost:9092 --server localhost:8500

It sends clicks of new users on new items, one after the other, and asks the server for
the same user and item until the prediction is another one. Sending, training, following
and asking all count. The last line is one JSON object.
"""

import argparse
import contextlib
import json
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any, Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import confluent_kafka
import numpy as np
from serving import clients

from online import children
from online.clicks import FIRST_PROBE, event

_WARM_UP = 5
_MOST_SECONDS = 60


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Measures, and prints the result.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = children.parser(__doc__)
    add = parser.add_argument
    add("--server", default="localhost:8500", help="HOST:PORT for gRPC")
    add("--model", default="online", help="the model's name on the server")
    add("--probes", type=int, default=300, help="how many events are measured")
    options = children.parsed(parser, argv)
    with contextlib.closing(
        clients.GrpcClient(options.server, options.model)
    ) as client:
        print(json.dumps(measured(options, client)))


def measured(options: argparse.Namespace, client: clients.GrpcClient) -> dict[str, Any]:
    """Returns the figures: milliseconds, and events per second meanwhile."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": options.brokers, "linger.ms": 0}
    )
    # Ids that no earlier measurement has used.
    first = FIRST_PROBE + time.time_ns() // 1_000_000
    for number in range(_WARM_UP):
        probe(producer, options.topic, client, first + number)
    begin, before = time.monotonic(), events_so_far(options)
    seconds = [
        probe(producer, options.topic, client, first + _WARM_UP + number)
        for number in range(options.probes)
    ]
    rate = (events_so_far(options) - before) / (time.monotonic() - begin)
    p50, p99 = np.percentile(np.array(seconds) * 1000, [50, 99])
    return {
        "p50_ms": round(p50, 1),
        "p99_ms": round(p99, 1),
        "events_per_second": round(rate),
        "probes": options.probes,
    }


def probe(producer: Any, topic: str, client: clients.GrpcClient, number: int) -> float:
    """Sends a click, and returns after how many seconds it has changed a prediction.

    Raises:
        TimeoutError: if that takes more than a minute.
    """
    asked = {name: np.array([number]) for name in ("user", "item")}
    _, before = client.predict(asked)
    begin = time.monotonic()
    producer.produce(topic, event(number, number, True))
    producer.flush()
    while True:
        _, now = client.predict(asked)
        seconds = time.monotonic() - begin
        if (now != before).any():
            return seconds
        if seconds > _MOST_SECONDS:
            raise TimeoutError("a click has not changed its prediction in a minute")


def events_so_far(options: argparse.Namespace) -> int:
    """Returns how many events the topic has had."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": options.brokers, "group.id": "freshness"}
    )
    try:
        partitions = (
            consumer.list_topics(options.topic).topics[options.topic].partitions
        )
        places = [confluent_kafka.TopicPartition(options.topic, p) for p in partitions]
        return sum(consumer.get_watermark_offsets(place)[1] for place in places)
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
