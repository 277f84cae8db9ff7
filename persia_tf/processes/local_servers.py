"""Starts, supervises and stops servers on this machine."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from persia_tf.credentials import auth, tls
from persia_tf.processes import memory, signals
from persia_tf.processes.children import Child
from persia_tf.processes.launched import LaunchedServer

# How many seconds servers may take to stop before they are killed. The time is longer
# than a server's wait for requests in flight, so no server is killed during that wait.
_STOP_SECONDS = signals.DRAIN_SECONDS + 5.0
_POLL_SECONDS = 0.02
_LOG_SECONDS = 5.0

# The end of a message about a server that ended before it listened again.
FAILED_RESTART = (
    "it failed to restart, for the reason in its log above, and the program's requests "
    "to it will fail"
)


class StartError(Exception):
    """A server did not start.

    Args:
        message: The error message, with the server's name and the reason.
        log: The last lines that the server wrote.
        is_late: Whether the server might have started with more time.
    """

    def __init__(self, message: str, log: str = "", is_late: bool = False) -> None:
        super().__init__(message)
        self.log = log
        self.is_late = is_late


def environment(token_file: str, encryption: tls.TLS | None) -> dict[str, str]:
    """Returns environment variables that give servers a token file and TLS files.

    Args:
        token_file: The file with the token; `""` for no token.
        encryption: The TLS files; None for no TLS.

    Returns:
        A copy of this process's environment, in which the variables for token and TLS
        are set to these files, or removed if there is no such file.

    Raises:
        InvalidArgumentError: If one of the files cannot be read or is not valid.
    """
    # Check the files here, so that an error is reported once and not by each server.
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


def shard_command_line(
    recovery_folder: str | None, count: int, values: Mapping[str, Any], log_level: str
) -> list[str]:
    """Returns the arguments of `persia ps` for one of several shards.

    Args:
        recovery_folder: The shard's own recovery folder; None for no folder.
        count: The number of shards and standbys.
        values: The values of options of `persia ps`, by name; None means an option's
            default. If `memory_limit` is None, the shards share the default limit for
            this machine equally.
        log_level: The value of `--log-level`.
    """
    own = dict(values)
    own["memory_limit"] = values.get("memory_limit") or memory.share_of(count)
    own["recovery_folder"] = recovery_folder
    return [f"--log-level={log_level}", *_command_line(own)]


def _command_line(values: Mapping[str, Any]) -> list[str]:
    """Returns values as command-line options, without the values that are None."""
    return [
        f"--{name.replace('_', '-')}={value}"
        for name, value in values.items()
        if value is not None
    ]


class LocalServers:
    """The server processes that this process runs: shards, workers and so on.

    The servers stop when the thread that started them ends. So they also stop when this
    process exits, crashes or is killed.

    Args:
        folder: A folder for temporary files of the servers.
        env: The servers' environment variables.
        signal_mask: The signals that are blocked when the servers start.
        recovers: Whether shards have recovery folders. If so, a server that ends is
            restarted. Data workers and their dispatcher always are.
        recovery_option: The name of the option that enables recovery, for messages.
        logger: The logger for messages about servers that have ended.
    """

    def __init__(
        self,
        folder: Path,
        env: Mapping[str, str],
        signal_mask: set[int],
        recovers: bool,
        recovery_option: str,
        logger: logging.Logger,
    ) -> None:
        self._folder = folder
        self._env = env
        self._signal_mask = signal_mask
        self._recovers = recovers
        self._recovery_option = recovery_option
        self._logger = logger
        self._servers: list[LaunchedServer] = []
        self._given_up: set[str] = set()
        self._tended_elsewhere: set[str] = set()

    def start(
        self,
        command: str,
        options: Sequence[list[str]],
        seconds: float,
        rest: Callable[[float], None],
        are_standbys: bool = False,
    ) -> list[LaunchedServer]:
        """Starts servers of one kind and waits until all of them listen.

        Args:
            command: The command of `persia`, as for `LaunchedServer`.
            options: A list of command-line options for each server.
            seconds: How long the servers may take to start.
            rest: A function that waits for at most the given seconds. An exception from
                `rest` ends the start.
            are_standbys: Whether the servers are standbys of shards.

        Returns:
            The servers.

        Raises:
            OSError: If a server cannot be run.
            StartError: If a server ends, or does not listen in time. The other servers
                run until `stop` is called.
        """
        deadline = time.monotonic() + seconds
        started = []
        for index, each in enumerate(options):
            server = LaunchedServer(
                *(command, index, each, self._folder, self._env, self._signal_mask),
                is_standby=are_standbys,
            )
            self._servers.append(server)
            started.append(server)
        while not all(server.listens for server in started):
            too_late = time.monotonic() > deadline
            for server in started:
                _check_start(server, seconds, too_late)
            rest(_POLL_SECONDS)
        return started

    def leave(self, servers: Iterable[LaunchedServer]) -> None:
        """Makes `tend` ignore some servers, which another object tends."""
        self._tended_elsewhere |= {server.name for server in servers}

    def tend(self) -> None:
        """Logs which servers have ended, and restarts those that recover.

        A server that ended before it listened is not restarted.
        """
        for server in self._servers:
            code = server.child.poll()
            if code is None or server.name in self._given_up | self._tended_elsewhere:
                continue
            server.child.join_log(_LOG_SECONDS)
            recovers = self._recovers or server.loses_nothing
            comes_back = recovers and server.listens
            if comes_back:
                outcome = "it is being restarted"
            elif recovers:
                outcome = FAILED_RESTART
            else:
                outcome = (
                    "the program's requests to it will fail (with "
                    f"{self._recovery_option} it would be restarted)"
                )
            self._logger.error("%s; %s", server.told_end(code), outcome)
            if comes_back:
                server.restart()
            else:
                self._given_up.add(server.name)

    def stop(self, rest: Callable[[float], bool]) -> None:
        """Sends SIGTERM to the servers, and kills servers that do not stop in time.

        Args:
            rest: A function that waits for at most the given seconds. If it returns
                False, all servers are killed immediately.
        """
        # Requests in flight on embedding workers need the shards, and requests in
        # flight on shards may need the standbys.
        for role in ((False, False), (True, False), (True, True)):
            group = [
                each.child
                for each in self._servers
                if (each.is_shard, each.is_standby) == role
            ]
            stop(group, rest, self.kill)
        for server in self._servers:
            server.child.join_log(_LOG_SECONDS)

    def kill(self) -> None:
        """Kills all servers that are still running."""
        for server in self._servers:
            kill(server.child, server.title, self._logger)


def stop(
    children: Sequence[Child], rest: Callable[[float], bool], late: Callable[[], None]
) -> None:
    """Sends SIGTERM to child processes, and waits until they have ended.

    Args:
        children: The processes.
        rest: A function that waits for at most the given seconds. If it returns False,
            `late` is called immediately.
        late: A function that kills the processes, which is called if they do not stop
            in time.
    """
    for child in children:
        child.send(signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while any(child.poll() is None for child in children):
        left = deadline - time.monotonic()
        if left <= 0 or not rest(left):
            late()


def kill(child: Child, title: str, logger: logging.Logger) -> None:
    """Logs that a process is killed, and kills it, unless it has already ended."""
    if child.poll() is None:
        logger.warning("killing %s (pid %d)", title, child.pid)
        child.send(signal.SIGKILL)
        child.wait()


def _check_start(server: LaunchedServer, seconds: float, too_late: bool) -> None:
    code = server.child.poll()
    if code is not None:
        server.child.join_log(_LOG_SECONDS)
        raise StartError(
            f"{server.title} ended with exit code {code} before it listened",
            server.child.log,
        )
    if too_late and not server.listens:
        raise StartError(
            f"{server.title} did not listen within {seconds:g} s",
            server.child.log,
            is_late=True,
        )
