"""What all commands that run servers share: options, port files, signals, shutdown."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from persia_tf import files
from persia_tf.commands import arguments, listening_options
from persia_tf.processes import log, signals
from persia_tf.processes.listening import Listening
from persia_tf.processes.signals import BlockedSignals

if TYPE_CHECKING:
    from persia_tf.processes.native_server import Server

_STOP = (signal.SIGTERM, signal.SIGINT)

_PR_SET_PDEATHSIG = 1  # From <linux/prctl.h>.


class Process(Protocol):
    """A server that runs until `stop` is called.

    Attributes:
        address: The address on which the server listens, for the log.
        cuts_off: Whether it is usual that requests are still running at the end.
    """

    address: Any
    cuts_off: bool = False

    def stop(self, seconds: float) -> bool | None:
        """Waits at most `seconds` for requests in flight, and stops the server.

        Returns:
            False if some requests are still running, in threads for which Python would
            wait when it exits.
        """


class Started(NamedTuple):
    """A started server.

    Attributes:
        process: The server.
        ports: The ports to write to --port-file.
        announce: A function that logs the addresses on which the server listens.
    """

    process: Process
    ports: Sequence[int]
    announce: Callable[[], None]


class EndedError(Exception):
    """A signal told the process to end before its server had started."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares options of `persia ps` and `worker` that the core does not receive."""
    arguments.add_auth_token_file(parser)
    arguments.add_tls(parser)
    add_process_arguments(
        parser,
        "the data port on its first line, the control port on its second and the port "
        "of metrics, if there are any, on its third",
    )


def add_process_arguments(parser: argparse.ArgumentParser, ports: str) -> None:
    """Declares the options that all commands which run servers have.

    Args:
        parser: The parser that gets the options.
        ports: The contents of --port-file, for the help text of that option.
    """
    log.add_arguments(parser)
    parser.add_argument(
        "--port-file",
        type=arguments.file_to_create,
        metavar="FILE",
        help=f"file to create once the process listens, with {ports}",
    )
    parser.add_argument(
        "--parent",
        type=int,
        metavar="PID",
        help="stop when this process, which must be the parent, has ended",
    )


def run(
    args: argparse.Namespace,
    title: str,
    name: str,
    start: Callable[[Listening], Server],
) -> int:
    """Serves rows until SIGTERM or SIGINT; a second signal ends the process at once.

    Args:
        args: The values of the options that `add_arguments` declares, and of
            `listening_options.options`.
        title: The process's name in the log.
        name: The name of the process's logger.
        start: A function that starts and returns the server for a `Listening`. It
            should import the server's module itself, since the import is slow and
            other commands do not need the module.

    Returns:
        The exit code.
    """
    logger = logging.getLogger(name)

    def begin() -> Started:
        where = listening_options.of_arguments(args)
        server = start(where)

        def announce() -> None:
            logger.info(
                "%s (pid %d) is listening on %s; health checks on %s",
                title,
                os.getpid(),
                server.address,
                server.control_address,
            )
            if server.metrics is not None:
                logger.info("Metrics on %s", server.metrics.url)
            if args.insecure and not where.auth_token and not where.tls:
                logger.warning(
                    "There is no token and no TLS: every program that reaches %s can "
                    "read and change all rows",
                    server.address,
                )

        ports = [server.address.port, server.control_address.port]
        if server.metrics is not None:
            ports.append(server.metrics.address.port)
        return Started(server, ports, announce)

    return run_until_told(args, logger, begin)


def run_until_told(
    args: argparse.Namespace,
    logger: logging.Logger,
    start: Callable[[], Started],
) -> int:
    """Serves until SIGTERM or SIGINT; a second signal ends the process at once.

    Args:
        args: The values of the options that `add_process_arguments` declares.
        logger: The process's logger.
        start: A function that starts and returns the server. It raises `EndedError` if
            a signal to stop is pending, which it finds by `is_told_to_stop`.

    Returns:
        The exit code.
    """
    # Block signals before another thread starts, so that only this thread gets them.
    blocked = BlockedSignals(_STOP)
    if args.parent is not None:
        _stop_with_parent(args.parent)
    if args.port_file:
        # A program that waits for the file must not read an earlier process's ports.
        args.port_file.unlink(missing_ok=True)
    formatter = log.start(args.log_level, logger.name)
    # gRPC's own log would only repeat errors that gRPC raises as exceptions.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        process, ports, announce = start()
    except EndedError:
        logger.info("Stopped before it listened")
        return 0
    formatter.place = str(process.address)
    if args.port_file:
        _write_whole(args.port_file, "".join(f"{port}\n" for port in ports))
    announce()
    received = blocked.take()
    logger.info(
        "%s: finishing requests in flight, for at most %g s",
        signal.Signals(received.si_signo).name,
        signals.DRAIN_SECONDS,
    )
    blocked.restore_default()
    files.end_within(signals.DRAIN_SECONDS)
    has_ended = process.stop(signals.DRAIN_SECONDS)
    if has_ended is False and not getattr(process, "cuts_off", False):
        logger.warning(
            "Requests in flight were cut off, after at most %g s", signals.DRAIN_SECONDS
        )
    logger.info("Stopped")
    if has_ended is False:
        _leave()
    return 0


def is_told_to_stop() -> bool:
    """Returns whether a signal to stop is pending while `run_until_told` starts."""
    return not signal.sigpending().isdisjoint(_STOP)


@contextlib.contextmanager
def ending_at_once() -> Iterator[None]:
    """Lets signals to stop end this process in a `with` block of `run_until_told`.

    It is for calls that may wait for long without letting Python run.
    """
    before = {each: signal.signal(each, signal.SIG_DFL) for each in _STOP}
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for each, handler in before.items():
            signal.signal(each, handler)


def _leave() -> NoReturn:
    """Exits at once, without waiting for running threads as Python would."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def _write_whole(path: Path, text: str) -> None:
    """Writes a file that appears only once it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text)
    partial.replace(path)


def _stop_with_parent(pid: int) -> None:
    """Makes the kernel send SIGTERM to this process when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != pid:
        # The parent ended before `prctl` was called, or `pid` was never the parent.
        raise ProcessLookupError(f"--parent must be the parent process, got {pid}")
