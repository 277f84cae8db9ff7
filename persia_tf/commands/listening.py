"""Where `persia ps` and `persia worker` listen, and whom they let in."""

from __future__ import annotations

import argparse
import dataclasses

from persia_tf import _native, auth, tls
from persia_tf.commands import arguments, memory


@dataclasses.dataclass(frozen=True)
class Listening:
    """The ports of a process that serves, and who may come.

    Attributes:
        host: Name or address to listen on.
        port: The data port; 0: any free one.
        control_port: The port of health checks; 0: any free one.
        io_threads: Threads of the data port.
        auth_token: What clients must have; empty: anything.
        tls: By what it is known, and whom it takes; empty: there is no TLS.
        insecure: Whether other machines are listened to without TLS or a token.
        max_connections: Connections of the data port at once.
        max_message_bytes: Of one request, and of one reply; 0: the default.
        max_request_tables: Tables of one request; 0: the default.
        max_request_ids: Ids of one request, over all its tables; 0: the default.
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
        """Returns what the core takes."""
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
        parser: Gets them.
        default_port: The data port unless told otherwise.
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
    """Gives what the options say, and reads the token and the files of TLS.

    Raises:
        InvalidArgumentError: If one of the files is not as it must be.
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
