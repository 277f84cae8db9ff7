"""`persia launch`: runs a program beside parameter server shards of its own.

With --workers, as several workers of TensorFlow. With --embedding-workers, such workers
stand between the program and the shards.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from persia_tf import auth, tls
from persia_tf.addresses import Address
from persia_tf.commands import arguments, log, memory, recovering, serving
from persia_tf.commands.children import Child
from persia_tf.commands.launched import LaunchedServer
from persia_tf.commands.programs import Programs
from persia_tf.commands.signals import BlockedSignals

USAGE = "persia launch [options] -- PROGRAM [ARGUMENT ...]"

_LOGGER = logging.getLogger("persia.launch")

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
        "--workers",
        type=arguments.at_least(1),
        default=1,
        metavar="N",
        help="how many processes run the program (%(default)s); if there are several, "
        "$TF_CONFIG makes each of them a worker, and one that fails ends all",
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
    parser.add_argument(
        "--memory-limit",
        metavar="BYTES",
        help="of each shard: see persia ps --help (default: equal parts of "
        f"{memory.DEFAULT_PERCENT:g}%% of this machine's)",
    )
    parser.add_argument(
        "--checkpoint-root",
        type=arguments.folder_or_url,
        metavar="FOLDER",
        help="folder or URL where checkpoints are kept (default: there are none)",
    )
    recovering.add_arguments(
        parser,
        "each in a folder of its own there, from which the next launch goes on; "
        "default: with --recovery, a temporary one, and else servers that end are not "
        "started again",
    )
    arguments.add_auth_token_file(parser)
    log.add_arguments(parser)
    arguments.add_tls(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the program; the result is its exit code, 128 + n after signal n."""
    env = _environment(args)
    log.start(args.log_level)
    with tempfile.TemporaryDirectory(prefix="persia-") as folder:
        return _Launch(args, env, Path(folder)).run()


def _environment(args: argparse.Namespace) -> dict[str, str]:
    """How the servers and the program find the token and the files of TLS."""
    token_file = auth.token_file(args.auth_token_file)
    encryption = arguments.tls_of(args)
    # What is wrong with them is better said once.
    auth.read_token(token_file)
    tls.read(encryption)
    env = dict(os.environ)
    for variable in (auth.TOKEN_FILE_VARIABLE, *tls.VARIABLES.values()):
        env.pop(variable, None)
    if token_file:
        env[auth.TOKEN_FILE_VARIABLE] = os.path.abspath(token_file)
    if encryption:
        env.update(encryption.absolute().environment())
    return env


class _StartError(Exception):
    """The program was not run; `exit_code` is the launcher's."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _Launch:
    def __init__(
        self, args: argparse.Namespace, env: dict[str, str], folder: Path
    ) -> None:
        """`folder` is for what must not outlast the launch."""
        self._args = args
        self._folder = folder
        self._recovery = recovering.of_arguments(args)
        if args.recovery and not args.recovery_folder:
            self._recovery = dataclasses.replace(
                self._recovery, folder=str(folder / "recovery")
            )
        self._env = env
        # Before any thread starts, so that no other takes a signal.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._signals = BlockedSignals([*_FORWARDED, signal.SIGCHLD])
        # In the order in which they start: the shards, then the workers.
        self._servers: list[LaunchedServer] = []
        self._given_up: set[str] = set()

    def run(self) -> int:
        shards = [self._shard_options(index) for index in range(self._args.ps)]
        workers = self._args.embedding_workers
        try:
            addresses = self._start("ps", shards)
            if workers:
                behind = [
                    f"--ps={_joined(addresses)}",
                    f"--log-level={self._args.log_level}",
                ]
                addresses = self._start("worker", [behind] * workers)
            return self._run_program(addresses)
        except _StartError as error:
            _LOGGER.error("%s", error)
            return error.exit_code
        finally:
            self._stop_servers()

    def _shard_options(self, index: int) -> list[str]:
        root = self._args.checkpoint_root
        options = [f"--checkpoint-root={root}"] if root else []
        limit = self._args.memory_limit or memory.share_of(self._args.ps)
        options += [f"--memory-limit={limit}", f"--log-level={self._args.log_level}"]
        return options + self._recovery.within(f"ps-{index}").options()

    def _start(self, command: str, options: list[list[str]]) -> list[Address]:
        """Starts servers of one kind and waits until all of them listen."""
        deadline = time.monotonic() + self._args.start_timeout
        started = []
        for index, each in enumerate(options):
            mask = self._signals.previous_mask
            server = LaunchedServer(command, index, each, self._folder, self._env, mask)
            self._servers.append(server)
            started.append(server)
        while not all(server.listens for server in started):
            self._check_start(started, time.monotonic() > deadline)
            received = self._signals.take_within(_POLL_SECONDS)
            if received and received.si_signo != signal.SIGCHLD:
                raise _StartError(
                    "interrupted before the program ran", 128 + received.si_signo
                )
        return [server.address for server in started]

    def _check_start(self, started: list[LaunchedServer], too_late: bool) -> None:
        for server in started:
            code = server.child.poll()
            if code is not None:
                server.child.join_log(_LOG_SECONDS)
                raise _StartError(
                    f"{server.title} ended with exit code {code} before it "
                    "listened; its log is above"
                )
            if too_late and not server.listens:
                raise _StartError(
                    f"{server.title} did not listen within "
                    f"{self._args.start_timeout:g} s; see its log above, or raise "
                    "--start-timeout"
                )

    def _run_program(self, addresses: list[Address]) -> int:
        env = {**self._env, "PERSIA_PS": _joined(addresses)}
        mask = self._signals.previous_mask
        try:
            program = Programs(self._args.program, env, self._args.workers, mask)
        except OSError as error:
            raise _StartError(
                f"cannot run {self._args.program[0]}: {error.strerror}",
                # As a shell does.
                127 if isinstance(error, FileNotFoundError) else 126,
            ) from error
        while True:
            self._tend_servers()
            code = program.poll()
            if code is not None:
                self._stop(program.children)
                program.join_logs(_LOG_SECONDS)
                return code
            received = self._signals.take()
            if received.si_signo != signal.SIGCHLD:
                program.forward(received)

    def _tend_servers(self) -> None:
        """Starts those again that have ended, if they can come back."""
        for server in self._servers:
            code = server.child.poll()
            if code is None or server.title in self._given_up:
                continue
            server.child.join_log(_LOG_SECONDS)
            comes_back = bool(self._recovery.folder) and server.listens
            if comes_back:
                outcome = "it is started again"
            elif self._recovery.folder:
                outcome = (
                    "it did not come back, its log above says why, and the program's "
                    "requests to it will fail"
                )
            else:
                outcome = (
                    "the program's requests to it will fail (with --recovery it would "
                    "come back)"
                )
            _LOGGER.error(
                "%s (%s, pid %d) ended with exit code %d; %s",
                *(server.title, server.address, server.child.pid, code, outcome),
            )
            if comes_back:
                server.restart()
            else:
                self._given_up.add(server.title)

    def _stop_servers(self) -> None:
        """Asks the servers to stop; kills them if they are late or on a signal."""
        # Workers first: what they still do needs the shards.
        for shards in (False, True):
            group = [each for each in self._servers if each.is_shard == shards]
            self._stop([each.child for each in group])
        for server in self._servers:
            server.child.join_log(_LOG_SECONDS)

    def _stop(self, children: Sequence[Child]) -> None:
        for child in children:
            child.send(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while any(child.poll() is None for child in children):
            received = self._signals.take_within(deadline - time.monotonic())
            if received is None or received.si_signo != signal.SIGCHLD:
                self._kill_servers()
                for child in children:
                    _kill(child, "a program")

    def _kill_servers(self) -> None:
        for server in self._servers:
            _kill(server.child, server.title)


def _kill(child: Child, title: str) -> None:
    if child.poll() is None:
        _LOGGER.warning("killing %s (pid %d)", title, child.pid)
        child.send(signal.SIGKILL)
        child.wait()


def _joined(addresses: list[Address]) -> str:
    return ",".join(map(str, addresses))
