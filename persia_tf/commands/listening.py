"""Options of `persia ps` and `persia worker` for ports and access control."""

from __future__ import annotations

import argparse
import dataclasses

from persia_tf import _native, auth, tls
from persia_tf.commands import arguments, memory


@dataclasses.dataclass(frozen=True)
class Listening:
    """The ports of a server process, and which clients it accepts.

    Attributes:
        host: Name or address to listen on.
        port: The data port; 0 means any free port.
        control_port: The port of health checks; 0 means any free port.
        io_threads: Number of threads that serve the data port.
        auth_token: The token that clients must have; empty: none is required.
        tls: The server's certificate and the authorities that it trusts; empty: no
            TLS.
        insecure: Whether clients on other machines are allowed without TLS or a token.
        max_connections: The most simultaneous connections to the data port.
        max_message_bytes: The largest request and the largest reply; 0: the default.
        max_request_tables: The most tables in one request; 0: the default.
        max_request_ids: The most ids in one request, over all its tables; 0: the
            default.
    """

    host: str
    port: int = 0
    control_port: int = 0
    io_threads: int = 2
    auth_token: bytes = dataclasses.field(default=b"", repr=False)
    tls: tls.Credentials = tls.Credentials()
    insecure: bool = False
    max_connections: int = 1024
    max_message_bytes: int = 0
    max_request_tables: int = 0
    max_request_ids: int = 0

    def native(self) -> _native.ServerOptions:
        """Returns the options as the core's structure."""
        return _native.ServerOptions(
            host=_native.utf8(self.host),
            port=self.port,
            io_threads=self.io_threads,
            auth_token=self.auth_token,
            insecure=self.insecure,
            max_connections=self.max_connections,
            max_message_bytes=self.max_message_bytes,
            max_request_tables=self.max_request_tables,
            max_request_ids=self.max_request_ids,
            tls=self.tls.native(),
        )


def add_arguments(parser: argparse.ArgumentParser, default_port: int) -> None:
    """Declares the options.

    Args:
        parser: The parser to add them to.
        default_port: The default data port.
    """
    parser.add_argument(
        "--port",
        type=arguments.port,
        default=default_port,
        help="data port; 0: any free one (%(default)s)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="name or address to listen on (%(default)s: this machine alone)",
    )
    parser.add_argument(
        "--control-port",
        type=arguments.port,
        default=0,
        help="port of gRPC health checks; 0: any free one (%(default)s)",
    )
    parser.add_argument(
        "--io-threads", type=int, default=2, help="network threads (%(default)s)"
    )
    arguments.add_auth_token_file(parser)
    arguments.add_tls(parser)
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="listen for other machines without TLS or a token, too: whoever reaches "
        "the port may read and change all rows",
    )
    parser.add_argument(
        "--max-connections",
        type=arguments.at_least(1),
        default=1024,
        metavar="N",
        help="connections of the data port at once (%(default)s)",
    )
    parser.add_argument(
        "--max-message-bytes",
        type=memory.size,
        default="1GiB",
        metavar="BYTES",
        help="the most that one request or reply may have (%(default)s, which is "
        "all that there may be)",
    )
    for what, most in (("tables", 2**14), ("ids", 2**24)):
        parser.add_argument(
            f"--max-request-{what}",
            type=arguments.at_least(1),
            default=most,
            metavar="N",
            help=f"{what} of one request (%(default)s)",
        )


def of_arguments(args: argparse.Namespace) -> Listening:
    """Returns the values of the options; reads the token and TLS files.

    Raises:
        InvalidArgumentError: If one of the files cannot be read or is not valid.
    """
    return Listening(
        host=args.host,
        port=args.port,
        control_port=args.control_port,
        io_threads=args.io_threads,
        auth_token=auth.read_token(auth.token_file(args.auth_token_file)),
        tls=tls.read(arguments.tls_of(args)),
        insecure=args.insecure,
        max_connections=args.max_connections,
        max_message_bytes=args.max_message_bytes,
        max_request_tables=args.max_request_tables,
        max_request_ids=args.max_request_ids,
    )
