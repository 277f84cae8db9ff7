"""`persia ps`: runs one parameter server shard until it is told to stop."""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
from pathlib import Path

from absl import logging

from persia_tf.commands.signals import BlockedSignals

# How long requests in flight may take once the shard was told to stop.
DRAIN_SECONDS = 20.0

_PR_SET_PDEATHSIG = 1  # Of <linux/prctl.h>.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia ps`."""
    parser.add_argument(
        "--port",
        type=_port,
        default=7000,
        help="data port; 0: any free one (%(default)s)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="name or address to listen on (%(default)s: this machine alone)",
    )
    parser.add_argument(
        "--control-port",
        type=_port,
        default=0,
        help="port of gRPC health checks; 0: any free one (%(default)s)",
    )
    parser.add_argument(
        "--port-file",
        type=Path,
        metavar="FILE",
        help="once the shard listens, written with the data port on its first "
        "line and the control port on its second",
    )
    parser.add_argument(
        "--io-threads", type=int, default=2, help="network threads (%(default)s)"
    )
    parser.add_argument(
        "--parent",
        type=int,
        metavar="PID",
        help="stop when this process, which must be the parent, is gone",
    )


def run(args: argparse.Namespace) -> int:
    """Serves until SIGTERM or SIGINT; a second one ends the process at once."""
    # Before the first thread starts, so that none of them takes a signal.
    blocked = BlockedSignals([signal.SIGTERM, signal.SIGINT])
    if args.parent is not None:
        _stop_with_parent(args.parent)
    if args.port_file:
        # Nobody who waits for the file may read an earlier shard's ports.
        args.port_file.unlink(missing_ok=True)
    # gRPC's own log would only repeat, in other words, what Shard raises.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # It takes long to import, and the other commands do without.
    from persia_tf.commands.shard import Shard

    shard = Shard(args.host, args.port, args.control_port, args.io_threads)
    if args.port_file:
        _write_whole(
            args.port_file, f"{shard.address.port}\n{shard.control_address.port}\n"
        )
    logging.info(
        "Shard (pid %d) is listening on %s; health checks on %s",
        os.getpid(),
        shard.address,
        shard.control_address,
    )
    received = blocked.take()
    logging.info(
        "%s: finishing requests in flight, for at most %g s",
        signal.Signals(received.si_signo).name,
        DRAIN_SECONDS,
    )
    blocked.restore_default()
    shard.stop(DRAIN_SECONDS)
    logging.info("Stopped")
    return 0


def _write_whole(path: Path, text: str) -> None:
    """Writes a file that nobody ever sees in part."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text)
    partial.replace(path)


def _stop_with_parent(pid: int) -> None:
    """Has the kernel send SIGTERM when the parent ends, however it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != pid:
        # It ended before the call, or was never the parent.
        raise ProcessLookupError(f"--parent must be the parent process, got {pid}")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"a port is from 0 to 65535, got {port}")
    return port
