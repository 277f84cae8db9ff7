"""`persia launch`: runs a program beside parameter server shards of its own.

With --workers, several processes run the program, as TensorFlow's workers. With
--embedding-workers, embedding workers stand between the program and the shards. With
--data-workers, other processes can make the program's batches, by tf.data service.
"""

from __future__ import annotations

import argparse
import logging
import shlex
import signal
import tempfile
from pathlib import Path

from persia_tf import errors
from persia_tf.base.addresses import DATA_VARIABLE, SHARDS_VARIABLE, Address
from persia_tf.commands import arguments, launched_shards
from persia_tf.commands.launched_shards import LaunchedShards
from persia_tf.credentials import auth, tls
from persia_tf.processes import local_servers, log
from persia_tf.processes.local_servers import LocalServers, StartError
from persia_tf.processes.programs import Programs
from persia_tf.processes.signals import BlockedSignals

USAGE = "persia launch [options] -- PROGRAM [ARGUMENT ...]"
EXAMPLES = """
persia launch --ps 2 -- python train.py --epochs 3
persia launch --ps 2 --workers 2 -- python train.py
persia launch --ps 2 --data-workers 4 -- python train.py
persia launch --ps 2 --recovery log --checkpoint-root ckpt -- python train.py
persia launch --ps 2 --standbys 1 -- python train.py
"""

_LOGGER = logging.getLogger("persia.launch")

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_LOG_SECONDS = 5.0
_LAST_PORT = 65535


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
        "$TF_CONFIG makes each of them a worker, and if one fails, all are ended",
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
        "--data-workers",
        type=arguments.at_least(0),
        default=0,
        metavar="N",
        help="number of data workers (%(default)s), which are restarted when they end; "
        "if there are any, the program finds their dispatcher in $PERSIA_DATA",
    )
    parser.add_argument(
        "--start-timeout",
        type=arguments.seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long the shards, and then the workers of each kind, may take to "
        "start (%(default)g)",
    )
    launched_shards.add_arguments(parser)
    parser.add_argument(
        "--metrics-port",
        type=arguments.port,
        metavar="PORT",
        help="first port of Prometheus's metrics, over HTTP or HTTPS with TLS; shards "
        "have it and those after it, then standbys, embedding workers and the program, "
        "which finds its own in $PERSIA_METRICS_PORT; 0: any free ones (default: no "
        "metrics)",
    )
    arguments.add_auth_token_file(parser)
    log.add_arguments(parser)
    arguments.add_tls(parser)


def run(args: argparse.Namespace) -> int:
    """Runs the program and returns its exit code, which is 128 + n after signal n."""
    env = local_servers.environment(
        auth.token_file(args.auth_token_file), arguments.tls_of(args)
    )
    launched_shards.check(args)
    _check_metrics_ports(args)
    log.start(args.log_level, "persia.launch")
    with tempfile.TemporaryDirectory(prefix="persia-") as folder:
        return _Launch(args, env, Path(folder)).run()


def _check_metrics_ports(args: argparse.Namespace) -> None:
    """Refuses a first port after which there are too few for all processes."""
    processes = _count_servers(args) + args.workers
    last = (args.metrics_port or 0) + processes - 1
    if args.metrics_port and last > _LAST_PORT:
        raise errors.InvalidArgumentError(
            f"--metrics-port {args.metrics_port} is the first of {processes} ports, "
            f"one for each process, but the last one would be {last}, above "
            f"{_LAST_PORT}: give a lower one, or 0 for any free ones"
        )


def _count_servers(args: argparse.Namespace) -> int:
    """Returns how many processes with metrics come before the program's."""
    return args.ps * (1 + args.standbys) + args.embedding_workers


class _NotRunError(Exception):
    """The program was not run, so `persia launch` exits with `exit_code`."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _Launch:
    def __init__(
        self, args: argparse.Namespace, env: dict[str, str], folder: Path
    ) -> None:
        """Prepares a launch; files in `folder` are removed when the launch ends."""
        self._args = args
        self._data_folder = folder / "data"
        self._env = env
        # Set up signals before any thread starts, so that only this thread gets them.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._signals = BlockedSignals([*_FORWARDED, signal.SIGCHLD])
        self._shards = LaunchedShards(args, folder / "recovery", _LOGGER)
        self._servers = LocalServers(
            *(folder, env, self._signals.previous_mask),
            recovers=self._shards.recover,
            recovery_option="--recovery",
            logger=_LOGGER,
        )

    def run(self) -> int:
        try:
            shards = self._shards.start(
                *(self._servers, self._rest_before_the_program, self._metrics_option)
            )
            workers = self._start("worker", self._worker_options(shards))
            variables = {SHARDS_VARIABLE: _joined(workers or shards)}
            if self._args.data_workers:
                variables[DATA_VARIABLE] = str(self._start_data_workers())
            self._announce(shards, workers, variables)
            return self._run_program(variables)
        except StartError as error:
            log = "its log is above" if error.log else "it logged nothing"
            remedy = "; --start-timeout allows more time" if error.is_late else ""
            _LOGGER.error("%s; %s%s", error, log, remedy)
            return 1
        except _NotRunError as error:
            _LOGGER.error("%s", error)
            return error.exit_code
        finally:
            self._servers.stop(self._rest)

    def _worker_options(self, shards: list[Address]) -> list[list[str]]:
        options = [f"--ps={_joined(shards)}", f"--log-level={self._args.log_level}"]
        first = _count_servers(self._args) - self._args.embedding_workers
        return [
            [*options, *self._metrics_option(first + index)]
            for index in range(self._args.embedding_workers)
        ]

    def _start_data_workers(self) -> Address:
        """Starts data workers and their dispatcher, whose address it returns."""
        level = f"--log-level={self._args.log_level}"
        [dispatcher] = self._start(
            "data dispatcher", [[f"--work-dir={self._data_folder}", level]]
        )
        options = [f"--dispatcher={dispatcher}", level]
        self._start("data worker", [options] * self._args.data_workers)
        return dispatcher

    def _metrics_option(self, index: int) -> list[str]:
        port = self._metrics_port(index)
        return [] if port is None else [f"--metrics-port={port}"]

    def _metrics_port(self, index: int) -> int | None:
        """Returns the port of metrics of the process `index` of all; None for none."""
        first = self._args.metrics_port
        return first + index if first else first

    def _start(self, command: str, options: list[list[str]]) -> list[Address]:
        servers = self._servers.start(
            command, options, self._args.start_timeout, self._rest_before_the_program
        )
        return [server.address for server in servers]

    def _announce(
        self,
        shards: list[Address],
        workers: list[Address],
        variables: dict[str, str],
    ) -> None:
        """Logs the environment variables with which other terminals find the shards."""
        found = dict(variables)
        for variable in (auth.TOKEN_FILE_VARIABLE, *tls.VARIABLES.values()):
            if variable in self._env:
                found[variable] = self._env[variable]
        dispatcher = variables.get(DATA_VARIABLE)
        _LOGGER.info(
            "shards: %s%s%s; to use them from another terminal: export %s",
            _joined(shards),
            f"; embedding workers: {_joined(workers)}" if workers else "",
            f"; dispatcher of data workers: {dispatcher}" if dispatcher else "",
            " ".join(f"{name}={shlex.quote(value)}" for name, value in found.items()),
        )

    def _run_program(self, variables: dict[str, str]) -> int:
        env = {**self._env, **variables}
        mask = self._signals.previous_mask
        try:
            program = Programs(
                *(self._args.program, env, self._args.workers, mask),
                self._metrics_port(_count_servers(self._args)),
            )
        except OSError as error:
            raise _NotRunError(
                f"cannot run {self._args.program[0]}: {error.strerror}",
                # As in a shell: 127 if the program is missing, 126 if it cannot be run.
                127 if isinstance(error, FileNotFoundError) else 126,
            ) from error
        while True:
            self._shards.tend()
            self._servers.tend()
            code = program.poll()
            if code is not None:
                self._stop(program)
                program.join_logs(_LOG_SECONDS)
                return code
            received = self._signals.take()
            if received.si_signo != signal.SIGCHLD:
                program.forward(received)

    def _stop(self, program: Programs) -> None:
        """Stops the processes of the program that are still running."""

        def end_all() -> None:
            self._servers.kill()
            for child in program.children:
                local_servers.kill(child, "a program", _LOGGER)

        local_servers.stop(program.children, self._rest, end_all)

    def _rest(self, seconds: float) -> bool:
        """Waits until a child process ends, but at most for `seconds`.

        Returns:
            True if a child has ended. False if none ended in time, or another signal
            arrived: then the caller must kill the children.
        """
        received = self._signals.take_within(seconds)
        return received is not None and received.si_signo == signal.SIGCHLD

    def _rest_before_the_program(self, seconds: float) -> None:
        received = self._signals.take_within(seconds)
        if received and received.si_signo != signal.SIGCHLD:
            raise _NotRunError(
                "interrupted before the program ran", 128 + received.si_signo
            )


def _joined(addresses: list[Address]) -> str:
    return ",".join(map(str, addresses))
