"""Runs a dispatcher or a worker of tf.data service until it is told to stop.

TensorFlow has both as Python objects only. This program runs them in a pod: without it,
the signal that stops the pod would not end them.
"""

from __future__ import annotations

import argparse
import signal
from typing import Any

import tensorflow as tf

service = tf.data.experimental.service

_STOP = {signal.SIGTERM, signal.SIGINT}

# A worker asks the dispatcher for work this often, so a new dataset may wait this long
# for its first batch. TensorFlow's default is 30 s.
_HEARTBEAT_MS = 1000


def main() -> None:
    """Serves according to the command line until SIGTERM or SIGINT."""
    options = _parse()
    # Before TensorFlow starts threads, so that only `sigwait` gets the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
    server = options.start(options)
    print(f"{options.role} of tf.data service: listening", flush=True)
    signal.sigwait(_STOP)
    del server  # Stops it.


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    dispatcher = roles.add_parser("dispatcher", help="hands out work to workers")
    dispatcher.set_defaults(start=_dispatcher)
    dispatcher.add_argument(
        "--work-dir", required=True, help="folder of the journal that survives restarts"
    )
    worker = roles.add_parser("worker", help="runs input pipelines for trainers")
    worker.set_defaults(start=_worker)
    worker.add_argument("--dispatcher", required=True, metavar="HOST:PORT")
    worker.add_argument(
        "--host", required=True, help="the address at which trainers reach this worker"
    )
    for role in (dispatcher, worker):
        role.add_argument("--port", type=int, required=True)
    return parser.parse_args()


def _dispatcher(options: argparse.Namespace) -> Any:
    return service.DispatchServer(
        service.DispatcherConfig(
            port=options.port, work_dir=options.work_dir, fault_tolerant_mode=True
        )
    )


def _worker(options: argparse.Namespace) -> Any:
    return service.WorkerServer(
        service.WorkerConfig(
            dispatcher_address=options.dispatcher,
            worker_address=f"{options.host}:{options.port}",
            port=options.port,
            heartbeat_interval_ms=_HEARTBEAT_MS,
        )
    )


if __name__ == "__main__":
    main()
