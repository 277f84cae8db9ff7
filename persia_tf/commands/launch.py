"""`persia launch`: runs a program beside parameter server shards of its own."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from persia_tf.addresses import Address
from persia_tf.commands import ps
from persia_tf.commands.children import Child, LoggedChild
from persia_tf.commands.signals import BlockedSignals

USAGE = "persia launch [options] -- PROGRAM [ARGUMENT ...]"

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_POLL_SECONDS = 0.02
# Longer than a shard takes by itself, so that it is not cut short.
_STOP_SECONDS = ps.DRAIN_SECONDS + 5.0
_LOG_SECONDS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia launch`."""
    parser.add_argument(
        "--ps",
        type=_positive,
        default=1,
        metavar="N",
        help="number of parameter server shards (%(default)s); the program finds "
        "their addresses in $PERSIA_PS",
    )
    parser.add_argument(
        "--start-timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long the shards may take to start (%(default)g)",
    )


def run(args: argparse.Namespace) -> int:
    """Runs the program; the result is its exit code, 128 + n after signal n."""
    return _Launch(args.program).run(args.ps, args.start_timeout)


class _StartError(Exception):
    """The program was not run; `exit_code` is the launcher's."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _Launch:
    def __init__(self, program: list[str]) -> None:
        self._argv = program
        # Before any thread starts, so that no other takes a signal.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._signals = BlockedSignals([*_FORWARDED, signal.SIGCHLD])
        self._shards: list[LoggedChild] = []
        self._reported: set[LoggedChild] = set()

    def run(self, shard_count: int, start_seconds: float) -> int:
        try:
            with tempfile.TemporaryDirectory(prefix="persia-") as folder:
                addresses = self._start_shards(shard_count, start_seconds, folder)
            return self._run_program(addresses)
        except _StartError as error:
            _say(str(error))
            return error.exit_code
        finally:
            self._stop_shards()

    def _start_shards(self, count: int, seconds: float, folder: str) -> list[Address]:
        deadline = time.monotonic() + seconds
        port_files = [Path(folder, str(index)) for index in range(count)]
        for index, port_file in enumerate(port_files):
            self._shards.append(self._start_shard(index, port_file))
        while not all(port_file.exists() for port_file in port_files):
            self._check_start(port_files, time.monotonic() > deadline, seconds)
            received = self._signals.take_within(_POLL_SECONDS)
            if received and received.si_signo != signal.SIGCHLD:
                raise _StartError(
                    "interrupted before the program ran", 128 + received.si_signo
                )
        return [
            Address("127.0.0.1", int(port_file.read_text().split()[0]))
            for port_file in port_files
        ]

    def _start_shard(self, index: int, port_file: Path) -> LoggedChild:
        command = [sys.executable, "-m", "persia_tf.commands.main", "ps"]
        options = ["--port=0", f"--port-file={port_file}", f"--parent={os.getpid()}"]
        return LoggedChild(
            f"ps {index}", command + options, os.environ, self._signals.previous_mask
        )

    def _check_start(
        self, port_files: list[Path], too_late: bool, seconds: float
    ) -> None:
        for shard, port_file in zip(self._shards, port_files):
            code = shard.poll()
            if code is not None:
                shard.join_log(_LOG_SECONDS)
                raise _StartError(
                    f"shard {shard.name} ended with exit code {code} before it "
                    "listened; its log is above"
                )
            if too_late and not port_file.exists():
                raise _StartError(
                    f"shard {shard.name} did not listen within {seconds:g} s; see "
                    "its log above, or raise --start-timeout"
                )

    def _run_program(self, addresses: list[Address]) -> int:
        env = {**os.environ, "PERSIA_PS": ",".join(map(str, addresses))}
        try:
            program = Child(self._argv, env, self._signals.previous_mask)
        except OSError as error:
            raise _StartError(
                f"cannot run {self._argv[0]}: {error.strerror}",
                # As a shell does.
                127 if isinstance(error, FileNotFoundError) else 126,
            ) from error
        while True:
            self._report_dead_shards(addresses)
            code = program.poll()
            if code is not None:
                return code
            received = self._signals.take()
            # What the kernel sends comes from the terminal, which has sent it to
            # the program too.
            if received.si_signo != signal.SIGCHLD and received.si_code <= 0:
                program.send(received.si_signo)

    def _report_dead_shards(self, addresses: list[Address]) -> None:
        for shard, address in zip(self._shards, addresses):
            code = shard.poll()
            if code is not None and shard not in self._reported:
                self._reported.add(shard)
                shard.join_log(_LOG_SECONDS)
                _say(
                    f"shard {shard.name} ({address}, pid {shard.pid}) ended with exit "
                    f"code {code}; the program's requests to it will fail"
                )

    def _stop_shards(self) -> None:
        """Asks the shards to stop; kills them if they are late or on a signal."""
        for shard in self._shards:
            shard.send(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while any(shard.poll() is None for shard in self._shards):
            received = self._signals.take_within(deadline - time.monotonic())
            if received is None or received.si_signo != signal.SIGCHLD:
                self._kill_shards()
        for shard in self._shards:
            shard.join_log(_LOG_SECONDS)

    def _kill_shards(self) -> None:
        for shard in self._shards:
            if shard.poll() is None:
                _say(f"killing shard {shard.name} (pid {shard.pid})")
                shard.send(signal.SIGKILL)
                shard.wait()


def _say(text: str) -> None:
    print(f"persia launch: {text}", file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value
