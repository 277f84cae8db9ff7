"""Options of `persia ps` and `persia worker` for ports and access control."""

from __future__ import annotations

import argparse

from persia_tf.commands import arguments
from persia_tf.commands.options import Option
from persia_tf.credentials import auth, tls
from persia_tf.native import core_limits
from persia_tf.processes.listening import Listening

# The largest message of the core: see kMaxBodyBytes in cc/wire/frame.h.
_MOST_MESSAGE_BYTES = 2**30


def options(default_port: int) -> tuple[Option, ...]:
    """Returns this module's options, except for those for the token and TLS.

    `arguments.add_auth_token_file` and `arguments.add_tls` declare the latter.

    Args:
        default_port: The default of --port, the data port.
    """
    return (
        Option(
            "--port",
            type=arguments.port,
            default=default_port,
            metavar="PORT",
            help="data port; 0: any free one (%(default)s)",
        ),
        Option(
            "--host",
            default="127.0.0.1",
            help="name or address to listen on (%(default)s: this machine alone)",
        ),
        Option(
            "--control-port",
            in_core=False,
            type=arguments.port,
            default=0,
            metavar="PORT",
            help="port of gRPC health checks; 0: any free one (%(default)s)",
        ),
        Option(
            "--control-plain",
            in_core=False,
            action="store_true",
            help="answer health checks without TLS, although the data port has it, as "
            "Kubernetes's probes need",
        ),
        Option(
            "--metrics-port",
            in_core=False,
            type=arguments.port,
            metavar="PORT",
            help="port of Prometheus's metrics, over HTTP or, with TLS, HTTPS; 0: any "
            "free one (default: no metrics)",
        ),
        Option(
            "--io-threads",
            type=arguments.at_least(1),
            default=2,
            metavar="N",
            help="network threads (%(default)s)",
        ),
        Option(
            "--insecure",
            action="store_true",
            help="allow other machines to connect without TLS or a token: then every "
            "program that reaches the port can read and change all rows",
        ),
        Option(
            "--max-connections",
            type=arguments.at_least(1),
            default=core_limits.MAX_CONNECTIONS,
            metavar="N",
            help="the most connections to the data port at once (%(default)s)",
        ),
        Option(
            "--max-message-bytes",
            type=arguments.bytes_up_to(_MOST_MESSAGE_BYTES),
            default="1GiB",
            metavar="BYTES",
            help="size limit of one request or reply (%(default)s, also the maximum)",
        ),
        Option(
            "--max-request-tables",
            type=arguments.at_least(1),
            default=2**14,
            metavar="N",
            help="the most tables in one request (%(default)s)",
        ),
        Option(
            "--max-request-ids",
            type=arguments.at_least(1),
            default=2**24,
            metavar="N",
            help="the most ids in one request (%(default)s)",
        ),
    )


def of_arguments(args: argparse.Namespace) -> Listening:
    """Returns where and how a server listens; reads its token and TLS files.

    Raises:
        InvalidArgumentError: If one of the files cannot be read or is not valid.
    """
    tls_files = arguments.tls_of(args)
    return Listening(
        host=args.host,
        control_port=args.control_port,
        auth_token=auth.read_token(auth.token_file(args.auth_token_file)),
        tls=tls.read(tls_files),
        tls_files=tls_files,
        control_plain=args.control_plain,
        metrics_port=args.metrics_port,
    )
