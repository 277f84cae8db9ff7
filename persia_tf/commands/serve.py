"""`persia serve`: serves a SavedModel over TensorFlow Serving's gRPC and REST APIs.

It loads new versions as they come, and has persia_tf's ops, so that it also serves
models that ask shards. Needs `pip install 'persia_tf[serving]'`.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import logging
import os
import sys
from typing import TYPE_CHECKING

from persia_tf.commands import arguments, memory, serving
from persia_tf.model_server import options

if TYPE_CHECKING:
    from persia_tf.model_server import Watcher
    from persia_tf.tls import TLS

EXAMPLES = """
persia serve --model serving/ranking
persia serve --model serving/ranking --follow 10.0.0.1:7000,10.0.0.2:7000
curl http://127.0.0.1:8501/v1/models/ranking
"""

# How long a thread may hold the GIL while others wait for it; Python's default is 5 ms.
_SWITCH_SECONDS = 0.0002

_M_MMAP_THRESHOLD = -3  # As in <malloc.h>.
_MMAP_THRESHOLD_VARIABLE = "MALLOC_MMAP_THRESHOLD_"
_LARGE_BYTES = 1 << 20

_logger = logging.getLogger("persia.serve")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia serve`."""
    parser.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="holds a folder for each version of the model, named by its number; or is "
        "a SavedModel itself, which is version 1 then",
    )
    parser.add_argument(
        "--name", help="what requests call the model (default: DIR's own name)"
    )
    parser.add_argument(
        "--versions",
        default="latest:1",
        metavar="WHICH",
        help="versions that serve: latest:N or all (%(default)s)",
    )
    parser.add_argument(
        "--poll-seconds",
        type=_seconds,
        default=1.0,
        metavar="SECONDS",
        help="how often to look for versions (%(default)g)",
    )
    _add_following(parser)
    _add_listening(parser)
    _add_limits(parser)
    serving.add_process_arguments(
        parser, "gRPC's port on its first line and REST's on its second"
    )


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second one ends the process at once."""
    return serving.run_until_told(args, _logger, lambda: _start(args))


def _start(args: argparse.Namespace) -> serving.Started:
    tls = arguments.tls_of(args)
    _check(args, tls)
    # Must be set before TensorFlow is imported: only errors of its own log matter.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # Imported here since they import TensorFlow, which is slow; other commands do not.
    from persia_tf import model_server
    from persia_tf.model_server import descriptors

    # Twice, for gRPC and for REST.
    descriptors.raise_limit(2 * args.max_connections)
    # So that short requests do not wait long behind long ones.
    sys.setswitchinterval(_SWITCH_SECONDS)
    # TensorFlow's modules stay in memory: later collections need not scan them.
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
    return serving.Started(server, ports, announce)


def _return_large_memory() -> None:
    """Makes malloc return large blocks to the system when they are freed.

    By default, glibc raises its threshold to the sizes of freed blocks, and so retains
    such blocks. After some requests of many megabytes, each thread would hold that much
    memory for later requests.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt") and _MMAP_THRESHOLD_VARIABLE not in os.environ:
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def _check(args: argparse.Namespace, tls: TLS | None) -> None:
    """Checks options that `ModelServer` would refuse after the import of TensorFlow."""
    from persia_tf.model_server import hosts, versions

    hosts.check(args.host, args.insecure or tls is not None)
    versions.read_policy(args.versions)
    options.name_of(args.name, options.folder_of(args.model))


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
        help="shards that train, whose rows each version is brought up to date with "
        "while it serves (default: it serves what it was exported with)",
    )
    parser.add_argument(
        "--follow-poll-seconds",
        type=_seconds,
        default=0.1,
        metavar="SECONDS",
        help="how long a shard is left alone after it told all (%(default)g)",
    )
    parser.add_argument(
        "--follow-wait-seconds",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long a new version waits to be up to date before it serves all the "
        "same (%(default)g)",
    )
    arguments.add_auth_token_file(parser)


def _add_listening(parser: argparse.ArgumentParser) -> None:
    for api, default in (("grpc", 8500), ("rest", 8501)):
        parser.add_argument(
            f"--{api}-port",
            type=arguments.port,
            default=default,
            metavar="PORT",
            help=f"port of {api}; 0: any free one (%(default)s)",
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
        help="listen for other machines without TLS, too: whoever reaches the ports "
        "may ask the model",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=arguments.between(1, options.MOST_THREADS),
        metavar="N",
        help="predictions that run at once (default: one a processor)",
    )
    parser.add_argument(
        "--tensorflow-threads",
        type=arguments.at_least(1),
        metavar="N",
        help="threads that the ops of a prediction share (default: TensorFlow's)",
    )
    parser.add_argument(
        "--max-requests",
        type=arguments.between(1, options.MOST_THREADS),
        default=128,
        metavar="N",
        help="predictions that wait or run; the next is refused (%(default)s)",
    )
    parser.add_argument(
        "--request-seconds",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long a prediction may take until it runs (%(default)g)",
    )
    parser.add_argument(
        "--max-message-bytes",
        type=_message_bytes,
        default="64MiB",
        metavar="BYTES",
        help="the most that a request by gRPC may have (%(default)s)",
    )
    parser.add_argument(
        "--max-body-bytes",
        type=_message_bytes,
        default="8MiB",
        metavar="BYTES",
        help="the most that the body of a request by REST may have, also once it is "
        "inflated (%(default)s)",
    )
    parser.add_argument(
        "--body-memory",
        type=_memory,
        default="256MiB",
        metavar="BYTES",
        help="what all requests by REST may take together while they arrive and are "
        "read; the next that is not small is refused (%(default)s)",
    )
    parser.add_argument(
        "--max-connections",
        type=arguments.between(1, options.MOST_CONNECTIONS),
        default=1024,
        metavar="N",
        help="by each of gRPC and REST; where there are as many, REST closes the "
        "idlest for a new one, and gRPC refuses it (%(default)s)",
    )
    parser.add_argument(
        "--idle-seconds",
        type=_seconds,
        default=120.0,
        metavar="SECONDS",
        help="how long a connection may be without a request (%(default)g)",
    )
    parser.add_argument(
        "--max-batch-size",
        type=arguments.between(0, options.MOST_EXAMPLES),
        default=0,
        metavar="N",
        help="join requests that wait, and run up to so many examples as one "
        "(%(default)s: none are joined)",
    )
    parser.add_argument(
        "--batch-timeout-ms",
        type=_milliseconds,
        default=0.0,
        metavar="MS",
        help="how long a request waits for others to join it, even if it could run "
        "(%(default)g)",
    )


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= options.MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"must be above 0 and at most {options.MOST_SECONDS:g}, got {text}"
        )
    return value


def _milliseconds(text: str) -> float:
    value, most = float(text), 1000 * options.MOST_SECONDS
    if not 0 <= value <= most:
        raise argparse.ArgumentTypeError(f"must be from 0 to {most:g}, got {text}")
    return value


def _memory(text: str) -> int:
    value = memory.size(text)
    if value > options.MOST_MEMORY:
        raise argparse.ArgumentTypeError(
            f"must be at most {options.MOST_MEMORY} bytes, got {text}"
        )
    return value


def _message_bytes(text: str) -> int:
    value = memory.size(text)
    if value > options.MOST_MESSAGE_BYTES:
        raise argparse.ArgumentTypeError(
            f"must be at most {options.MOST_MESSAGE_BYTES} bytes, got {text}"
        )
    return value
