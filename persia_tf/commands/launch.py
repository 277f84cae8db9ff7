"""`persia launch`: runs a program beside parameter server shards of its own.

With --embedding-workers, such workers stand between the program and the shards.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from persia_tf import auth
from persia_tf.addresses import Address
from persia_tf.commands import arguments, serving
from persia_tf.commands.children import Child, LoggedChild
from persia_tf.commands.signals import BlockedSignals

USAGE = "persia launch [options] -- PROGRAM [ARGUMENT ...]"

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_POLL_SECONDS = 0.02
# Longer than a server takes by itself, so that it is not cut short.
_STOP_SECONDS = serving.DRAIN_SECONDS + 5.0
_LOG_SECONDS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia launch`."""
    parser.add_argument(
        "--ps",
        type=arguments.at_least(1),
        default=1,
        metavar="N",
        help="number of parameter server shards (%(default)s); the program finds "
        "their addresses in $PERSIA_PS",
    )
    parser.add_argument(
        "--embedding-workers",
        type=arguments.at_least(0),
        default=0,
        metavar="N",
        help="number of embedding workers in front of the shards (%(default)s); if "
        "there are any, $PERSIA_PS has their addresses instead",
    )
    parser.add_argument(
        "--start-timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long the shards, and then the workers, may take to start "
        "(%(default)g)",
    )
    arguments.add_auth_token_file(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the program; the result is its exit code, 128 + n after signal n."""
    token_file = auth.token_file(args.auth_token_file)
    auth.read_token(token_file)  # What is wrong with it is better said once.
    launch = _Launch(args.program, args.start_timeout, token_file)
    return launch.run(args.ps, args.embedding_workers)


class _StartError(Exception):
    """The program was not run; `exit_code` is the launcher's."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _Server(NamedTuple):
    """A shard or a worker that this launcher started, and where it listens."""

    title: str
    child: LoggedChild
    port_file: Path

    @property
    def address(self) -> Address:
        """Where it listens, once its port file is there."""
        return Address("127.0.0.1", int(self.port_file.read_text().split()[0]))


class _Launch:
    def __init__(
        self, program: list[str], start_seconds: float, token_file: str
    ) -> None:
        self._argv = program
        self._start_seconds = start_seconds
        # How the servers and the program find the token.
        self._env = dict(os.environ)
        if token_file:
            self._env[auth.TOKEN_FILE_VARIABLE] = os.path.abspath(token_file)
        else:
            self._env.pop(auth.TOKEN_FILE_VARIABLE, None)
        # Before any thread starts, so that no other takes a signal.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._signals = BlockedSignals([*_FORWARDED, signal.SIGCHLD])
        # In the order in which they start: the shards, then the workers.
        self._servers: list[_Server] = []
        self._addresses: dict[str, Address] = {}  # By title.
        self._reported: set[str] = set()

    def run(self, shards: int, workers: int) -> int:
        try:
            with tempfile.TemporaryDirectory(prefix="persia-") as folder:
                addresses = self._start("ps", "shard ps", shards, [], Path(folder))
                if workers:
                    behind = [f"--ps={_joined(addresses)}"]
                    addresses = self._start(
                        "worker", "worker", workers, behind, Path(folder)
                    )
            return self._run_program(addresses)
        except _StartError as error:
            _say(str(error))
            return error.exit_code
        finally:
            self._stop_servers()

    def _start(
        self, command: str, title: str, count: int, options: list[str], folder: Path
    ) -> list[Address]:
        """Starts servers of one kind and waits until all of them listen."""
        deadline = time.monotonic() + self._start_seconds
        started = [
            self._start_one(command, f"{title} {index}", options, folder)
            for index in range(count)
        ]
        while not all(server.port_file.exists() for server in started):
            self._check_start(started, time.monotonic() > deadline)
            received = self._signals.take_within(_POLL_SECONDS)
            if received and received.si_signo != signal.SIGCHLD:
                raise _StartError(
                    "interrupted before the program ran", 128 + received.si_signo
                )
        for server in started:
            self._addresses[server.title] = server.address
        return [server.address for server in started]

    def _start_one(
        self, command: str, title: str, options: list[str], folder: Path
    ) -> _Server:
        name = title.removeprefix("shard ")
        port_file = folder / name
        argv = [sys.executable, "-m", "persia_tf.commands.main", command]
        argv += ["--port=0", f"--port-file={port_file}", f"--parent={os.getpid()}"]
        child = LoggedChild(
            name, argv + options, self._env, self._signals.previous_mask
        )
        server = _Server(title, child, port_file)
        self._servers.append(server)
        return server

    def _check_start(self, started: list[_Server], too_late: bool) -> None:
        for server in started:
            code = server.child.poll()
            if code is not None:
                server.child.join_log(_LOG_SECONDS)
                raise _StartError(
                    f"{server.title} ended with exit code {code} before it "
                    "listened; its log is above"
                )
            if too_late and not server.port_file.exists():
                raise _StartError(
                    f"{server.title} did not listen within "
                    f"{self._start_seconds:g} s; see its log above, or raise "
                    "--start-timeout"
                )

    def _run_program(self, addresses: list[Address]) -> int:
        env = {**self._env, "PERSIA_PS": _joined(addresses)}
        try:
            program = Child(self._argv, env, self._signals.previous_mask)
        except OSError as error:
            raise _StartError(
                f"cannot run {self._argv[0]}: {error.strerror}",
                # As a shell does.
                127 if isinstance(error, FileNotFoundError) else 126,
            ) from error
        while True:
            self._report_dead_servers()
            code = program.poll()
            if code is not None:
                return code
            received = self._signals.take()
            # What the kernel sends comes from the terminal, which has sent it to
            # the program too.
            if received.si_signo != signal.SIGCHLD and received.si_code <= 0:
                program.send(received.si_signo)

    def _report_dead_servers(self) -> None:
        for title, child, _ in self._servers:
            code = child.poll()
            if code is not None and title not in self._reported:
                self._reported.add(title)
                child.join_log(_LOG_SECONDS)
                _say(
                    f"{title} ({self._addresses[title]}, pid {child.pid}) ended with "
                    f"exit code {code}; the program's requests to it will fail"
                )

    def _stop_servers(self) -> None:
        """Asks the servers to stop; kills them if they are late or on a signal."""
        # Workers first: what they still do needs the shards.
        workers = [each for each in self._servers if each.title.startswith("worker")]
        shards = [each for each in self._servers if each not in workers]
        for group in (workers, shards):
            self._stop([each.child for each in group])

    def _stop(self, children: list[LoggedChild]) -> None:
        for child in children:
            child.send(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while any(child.poll() is None for child in children):
            received = self._signals.take_within(deadline - time.monotonic())
            if received is None or received.si_signo != signal.SIGCHLD:
                self._kill_servers()
        for child in children:
            child.join_log(_LOG_SECONDS)

    def _kill_servers(self) -> None:
        for title, child, _ in self._servers:
            if child.poll() is None:
                _say(f"killing {title} (pid {child.pid})")
                child.send(signal.SIGKILL)
                child.wait()


def _joined(addresses: list[Address]) -> str:
    return ",".join(map(str, addresses))


def _say(text: str) -> None:
    print(f"persia launch: {text}", file=sys.stderr, flush=True)
