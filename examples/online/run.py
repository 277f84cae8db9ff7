"""Runs all of the example on this machine, and measures how fresh predictions are.

python examples/online/run.py
"""

import argparse
import contextlib
import pathlib
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, Optional

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import confluent_kafka
from serving import clients, server

import persia_tf as ptf
from online import children, freshness

_TOPIC = "clicks"


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the example.

    Args:
        argv: the arguments; None for those of the process.
    """
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="few events, for a test")
    add("--rate", type=float, default=1000, help="events per second")
    add("--probes", type=int, default=300, help="how many events are measured")
    add("--shards", type=int, default=2, help="how many parameter servers")
    options = parser.parse_args(argv)
    if options.quick:
        options.rate, options.probes = 200.0, 20
    # So that what was started is ended, too, when this process is told to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        run(options, pathlib.Path(folder))


def run(options: argparse.Namespace, folder: pathlib.Path) -> None:
    """Starts everything, measures, and ends everything."""
    versions = folder / "online"
    versions.mkdir()
    with contextlib.ExitStack() as started:
        enter = started.enter_context
        brokers = enter(mock_brokers())
        cluster = enter(ptf.local_cluster(options.shards, checkpoint_root=folder))
        shards = ",".join(cluster.shards)
        common = ("--brokers", brokers, "--topic", _TOPIC)
        enter(children.running("producer.py", *common, "--rate", str(options.rate)))
        enter(
            children.running(
                *("train.py", *common, "--versions", str(versions)),
                *("--job", str(folder / "job")),
                *("--bad_events", str(folder / "bad.jsonl")),
                PERSIA_PS=shards,
            )
        )
        follow = ["--follow", shards, "--follow-poll-seconds=0.01"]
        running = enter(server.running(versions, follow))
        clients.wait_until_serving(running.rest)
        freshness.main(
            [*common, "--server", running.grpc, "--probes", str(options.probes)]
        )


@contextlib.contextmanager
def mock_brokers() -> Iterator[str]:
    """Runs librdkafka's mock cluster, with a topic, until the block ends.

    It is in this process, and keeps the last 5 MB of events of each partition.
    """
    settings = {"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 2}
    cluster: Any = confluent_kafka.Producer(settings)
    found = cluster.list_topics(timeout=30).brokers.values()
    brokers = ",".join(f"{each.host}:{each.port}" for each in found)
    producer = confluent_kafka.Producer({"bootstrap.servers": brokers, "log_level": 2})
    producer.list_topics(_TOPIC, timeout=30)  # This creates it.
    yield brokers
    del cluster


if __name__ == "__main__":
    main()
