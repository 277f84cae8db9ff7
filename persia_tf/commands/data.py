"""`persia data`: runs the servers of tf.data service, which make trainers' batches.

Data workers run the input pipelines of trainers, on any number of machines. One
dispatcher hands out the work; trainers are given its address. tf.data service has
neither a token nor TLS, nor health checks or metrics.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from persia_tf import errors
from persia_tf.base import addresses
from persia_tf.commands import arguments, running
from persia_tf.commands.actions import Actions
from persia_tf.processes import loopback, tensorflow_settings

if TYPE_CHECKING:
    from persia_tf.data.remote import servers

# The examples in the help of `persia data`.
EXAMPLES = """
persia data dispatcher --port 7200 --work-dir journal
persia data worker --dispatcher 127.0.0.1:7200
persia data dispatcher --host 10.0.0.1 --work-dir journal --insecure
persia data worker --dispatcher 10.0.0.1:7200 --host 10.0.0.2 --insecure
"""

_ACTIONS = {
    "dispatcher": (
        "hand out the work of datasets to data workers",
        "Runs the dispatcher, which hands out the work of datasets to data workers.",
    ),
    "worker": (
        "run the input pipelines of trainers",
        "Runs a data worker, which runs the input pipelines of trainers. It waits "
        "until its dispatcher answers.",
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia data`."""
    actions = Actions(parser, EXAMPLES)
    for name, (text, description) in _ACTIONS.items():
        action = actions.add(name, text, description)
        if name == "dispatcher":
            _add_work_dir(action)
        else:
            _add_dispatcher(action)
        _add_listening(action, default_port=7200 if name == "dispatcher" else 7201)
        running.add_process_arguments(action, "the port")


def _add_work_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--work-dir",
        type=arguments.folder,
        metavar="DIR",
        help="folder of the journal of one dispatcher, from which it goes on after it "
        "was killed (default: no journal; then trainers read the files of readers "
        "themselves for the rest of the epoch, and those with other datasets must be "
        "restarted too)",
    )


def _add_dispatcher(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dispatcher",
        type=_dispatcher,
        default=f"${addresses.DATA_VARIABLE}",
        metavar="HOST:PORT",
        help="the dispatcher, from which the worker gets its work (%(default)s)",
    )


def _add_listening(parser: argparse.ArgumentParser, default_port: int) -> None:
    parser.add_argument(
        "--port",
        type=arguments.port,
        default=default_port,
        metavar="PORT",
        help="port to listen on; 0: any free one (%(default)s)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="name or address at which others reach this process; a data worker that "
        "is started again needs its earlier one (%(default)s)",
    )
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow other machines to connect, to any address of this machine: then "
        "every program that reaches the port can run TensorFlow's ops here, which read "
        "and write this user's files",
    )


def _dispatcher(text: str) -> addresses.Address:
    """Parses "host:port"; replaces "$PERSIA_DATA" with that variable's value."""
    if text != f"${addresses.DATA_VARIABLE}":
        return arguments.address(text)
    given = os.environ.get(addresses.DATA_VARIABLE, "")
    if not given.strip():
        raise argparse.ArgumentTypeError(
            f"no dispatcher is given: give HOST:PORT, or set {text} to it"
        )
    try:
        return arguments.address(given)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second signal ends the process at once."""
    logger = logging.getLogger(f"persia.data.{args.action}")
    start = _start_dispatcher if args.action == "dispatcher" else _start_worker
    return running.run_until_told(args, logger, lambda: _start(args, logger, start))


def _start(
    args: argparse.Namespace,
    logger: logging.Logger,
    start: Callable[
        [argparse.Namespace, logging.Logger], servers.Dispatcher | servers.DataWorker
    ],
) -> running.Started:
    _check_host(args)
    tensorflow_settings.reduce_log()
    tensorflow_settings.hide_gpus()
    server = start(args, logger)

    def announce() -> None:
        logger.info(
            "%s (pid %d) is listening on %s",
            "Dispatcher" if args.action == "dispatcher" else "Data worker",
            *(os.getpid(), server.address),
        )
        if args.insecure:
            logger.warning(
                "tf.data service has no token and no TLS: every program that reaches "
                "%s can run TensorFlow's ops here, which read and write this user's "
                "files",
                server.address,
            )

    return running.Started(server, [server.address.port], announce)


def _start_dispatcher(
    args: argparse.Namespace, logger: logging.Logger
) -> servers.Dispatcher:
    # Imported here, since it imports TensorFlow, which would slow down other commands.
    from persia_tf.data.remote import servers

    return servers.Dispatcher(args.host, args.port, not args.insecure, args.work_dir)


def _start_worker(
    args: argparse.Namespace, logger: logging.Logger
) -> servers.DataWorker:
    from persia_tf.data.remote import servers

    logger.info("Connecting to the dispatcher %s", args.dispatcher)
    if not servers.wait_for_dispatcher(args.dispatcher, running.is_told_to_stop):
        raise running.EndedError
    with running.ending_at_once():
        return servers.DataWorker(
            args.host, args.port, not args.insecure, args.dispatcher
        )


def _check_host(args: argparse.Namespace) -> None:
    if args.insecure or loopback.is_loopback(args.host):
        return
    raise errors.InvalidArgumentError(
        "tf.data service has neither a token nor TLS, so every program that reaches "
        f"--host {args.host} could run TensorFlow's ops here, which read and write "
        "this user's files: listen on 127.0.0.1; or, if every program in this network "
        "is trusted, give --insecure"
    )
