"""`persia serve`: serves a SavedModel over TensorFlow Serving's gRPC and REST APIs.

It loads new versions as they appear. It has persia_tf's ops, so it also serves models
that look up rows on shards. Needs `pip install 'persia_tf[serving]'`.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import logging
import os
import sys
from typing import TYPE_CHECKING

from persia_tf import errors
from persia_tf.base import checks
from persia_tf.commands import arguments, running
from persia_tf.model_server import bounds
from persia_tf.processes import tensorflow_settings

if TYPE_CHECKING:
    from persia_tf.credentials.tls import TLS
    from persia_tf.model_server import Watcher

EXAMPLES = """
persia serve --model serving/ranking
persia serve --model serving/ranking --follow 10.0.0.1:7000,10.0.0.2:7000
curl http://127.0.0.1:8501/v1/models/ranking
"""

# How long a thread may hold the GIL while others wait for it; Python's default is 5 ms.
_SWITCH_SECONDS = 0.0002

_M_MMAP_THRESHOLD = -3  # From <malloc.h>.
_MMAP_THRESHOLD_VARIABLE = "MALLOC_MMAP_THRESHOLD_"
_LARGE_BYTES = 1 << 20

_logger = logging.getLogger("persia.serve")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia serve`."""
    parser.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="a folder with one SavedModel per version of the model, each in a folder "
        "named by the version's number; or one SavedModel, which becomes version 1",
    )
    parser.add_argument(
        "--name", help="the model's name in requests (default: the name of DIR)"
    )
    parser.add_argument(
        "--versions",
        type=_versions,
        default="latest:1",
        metavar="WHICH",
        help="versions to serve: latest:N or all (%(default)s)",
    )
    parser.add_argument(
        "--poll-seconds",
        type=arguments.seconds,
        default=1.0,
        metavar="SECONDS",
        help="how often to look for new versions (%(default)g)",
    )
    _add_following(parser)
    _add_listening(parser)
    _add_limits(parser)
    running.add_process_arguments(
        parser, "the gRPC port on its first line and the REST port on its second"
    )


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second signal ends the process at once."""
    return running.run_until_told(args, _logger, lambda: _start(args))


def _start(args: argparse.Namespace) -> running.Started:
    tls = arguments.tls_of(args)
    _check(args, tls)
    tensorflow_settings.reduce_log()
    # Imported here, since these modules import TensorFlow, which would slow down the
    # other commands.
    from persia_tf import model_server
    from persia_tf.processes import descriptors

    # gRPC and REST may each have `max_connections` connections.
    descriptors.raise_limit(2 * args.max_connections)
    # Switch threads often, so that short requests do not wait long behind long ones.
    sys.setswitchinterval(_SWITCH_SECONDS)
    # TensorFlow's modules stay in memory: later garbage collections need not scan them.
    gc.collect()
    gc.freeze()
    _return_large_memory()
    if args.tensorflow_threads:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(args.tensorflow_threads)
    server = model_server.ModelServer(
        args.model,
        name=args.name,
        versions=args.versions,
        poll_seconds=args.poll_seconds,
        host=args.host,
        grpc_port=args.grpc_port,
        rest_port=args.rest_port,
        tls=tls,
        insecure=args.insecure,
        threads=args.threads,
        max_requests=args.max_requests,
        request_seconds=args.request_seconds,
        max_message_bytes=args.max_message_bytes,
        max_body_bytes=args.max_body_bytes,
        body_memory=args.body_memory,
        max_connections=args.max_connections,
        idle_seconds=args.idle_seconds,
        max_batch_size=args.max_batch_size,
        batch_timeout=args.batch_timeout_ms / 1000,
        watchers=_watchers(args, tls),
    )

    def announce() -> None:
        _logger.info(
            "Model %r (pid %d): gRPC is listening on %s; REST on %s",
            server.name,
            os.getpid(),
            server.address,
            server.rest_address,
        )

    ports = [server.address.port, server.rest_address.port]
    return running.Started(server, ports, announce)


def _return_large_memory() -> None:
    """Makes malloc return large blocks to the system when they are freed.

    By default, glibc returns a freed block to the system only if it is larger than a
    threshold, and each large block that is freed raises the threshold to its own size.
    So after some requests of many megabytes, each thread would retain that much memory.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt") and _MMAP_THRESHOLD_VARIABLE not in os.environ:
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def _check(args: argparse.Namespace, tls: TLS | None) -> None:
    """Refuses wrong options before the slow import of `ModelServer`."""
    from persia_tf.model_server import hosts

    hosts.check(args.host, args.insecure or tls is not None)
    bounds.name_of(args.name, bounds.folder_of(args.model))


def _watchers(args: argparse.Namespace, tls: TLS | None) -> list[Watcher]:
    if args.follow is None:
        return []
    from persia_tf.cluster import Cluster
    from persia_tf.model_server import Following

    cluster = Cluster(
        [str(address) for address in args.follow],
        auth_token_file=args.auth_token_file,
        tls=tls or False,
    )
    return [Following(cluster, args.follow_poll_seconds, args.follow_wait_seconds)]


def _add_following(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--follow",
        type=arguments.address_list,
        metavar="HOST:PORT,...",
        help="shards that are being trained, whose changed rows each version receives "
        "while it serves (default: it keeps the rows that it was exported with)",
    )
    parser.add_argument(
        "--follow-poll-seconds",
        type=arguments.seconds,
        default=0.1,
        metavar="SECONDS",
        help="how long to wait before asking a shard again once it has sent all "
        "changes (%(default)g)",
    )
    parser.add_argument(
        "--follow-wait-seconds",
        type=arguments.seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long a new version waits until its rows are up to date before it "
        "serves anyway (%(default)g)",
    )
    arguments.add_auth_token_file(parser)


def _add_listening(parser: argparse.ArgumentParser) -> None:
    for api, default in (("gRPC", 8500), ("REST", 8501)):
        parser.add_argument(
            f"--{api.lower()}-port",
            type=arguments.port,
            default=default,
            metavar="PORT",
            help=f"port of the {api} API; 0: any free one (%(default)s)",
        )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="name or address to listen on (%(default)s: this machine alone)",
    )
    arguments.add_tls(parser)
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="allow other machines to connect without TLS: then every program that "
        "reaches the ports can use the model",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=arguments.between(1, bounds.MOST_THREADS),
        metavar="N",
        help="predictions that run at once (default: one per processor)",
    )
    parser.add_argument(
        "--tensorflow-threads",
        type=arguments.at_least(1),
        metavar="N",
        help="threads that the ops of all predictions share (default: TensorFlow's)",
    )
    parser.add_argument(
        "--max-requests",
        type=arguments.between(1, bounds.MOST_THREADS),
        default=128,
        metavar="N",
        help="predictions that wait or run; any more are refused (%(default)s)",
    )
    parser.add_argument(
        "--request-seconds",
        type=arguments.seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long a prediction may wait before it runs (%(default)g)",
    )
    parser.add_argument(
        "--max-message-bytes",
        type=arguments.bytes_up_to(bounds.MOST_MESSAGE_BYTES),
        default="64MiB",
        metavar="BYTES",
        help="size limit of one gRPC request (%(default)s)",
    )
    parser.add_argument(
        "--max-body-bytes",
        type=arguments.bytes_up_to(bounds.MOST_MESSAGE_BYTES),
        default="8MiB",
        metavar="BYTES",
        help="size limit of the body of one REST request, both as it is sent and "
        "decompressed (%(default)s)",
    )
    parser.add_argument(
        "--body-memory",
        type=arguments.bytes_up_to(bounds.MOST_MEMORY),
        default="256MiB",
        metavar="BYTES",
        help="the most memory for all REST requests while they arrive and are parsed; "
        "beyond it, requests that are not small are refused (%(default)s)",
    )
    parser.add_argument(
        "--max-connections",
        type=arguments.between(1, bounds.MOST_CONNECTIONS),
        default=1024,
        metavar="N",
        help="connections of each API; at the limit REST closes the most idle one, and "
        "gRPC refuses the new one (%(default)s)",
    )
    parser.add_argument(
        "--idle-seconds",
        type=arguments.seconds,
        default=120.0,
        metavar="SECONDS",
        help="how long a connection may stay open without a request (%(default)g)",
    )
    parser.add_argument(
        "--max-batch-size",
        type=arguments.between(0, bounds.MOST_EXAMPLES),
        default=0,
        metavar="N",
        help="run waiting requests as one batch of up to N examples (%(default)s: no "
        "batching)",
    )
    parser.add_argument(
        "--batch-timeout-ms",
        type=_milliseconds,
        default=0.0,
        metavar="MS",
        help="how long a request that could already run waits for others to form a "
        "batch (%(default)g)",
    )


def _versions(text: str) -> str:
    from persia_tf.model_server import versions

    try:
        versions.read_policy(text)
    except errors.InvalidArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _milliseconds(text: str) -> float:
    value, most = float(text), 1000 * checks.MOST_SECONDS
    if not 0 <= value <= most:
        raise argparse.ArgumentTypeError(f"must be from 0 to {most:g}, got {text}")
    return value
