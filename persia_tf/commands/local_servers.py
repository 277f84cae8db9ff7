"""Starts, supervises and stops servers on this machine."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from persia_tf import auth, tls
from persia_tf.addresses import Address
from persia_tf.commands import memory, serving
from persia_tf.commands.children import Child
from persia_tf.commands.launched import LaunchedServer
from persia_tf.commands.recovering import Recovery

# Longer than a server needs to stop by itself, so that it is not killed too early.
_STOP_SECONDS = serving.DRAIN_SECONDS + 5.0
_POLL_SECONDS = 0.02
_LOG_SECONDS = 5.0


class StartError(Exception):
    """A server did not start.

    Args:
        message: Names the server and the reason.
        log: The last lines that it wrote.
        is_late: Whether it might have started with more time.
    """

    def __init__(self, message: str, log: str = "", is_late: bool = False) -> None:
        super().__init__(message)
        self.log = log
        self.is_late = is_late


def environment(token_file: str, encryption: tls.TLS | None) -> dict[str, str]:
    """Returns the environment for servers, with a token file and TLS.

    Args:
        token_file: The file with the token; `""` for no token.
        encryption: The TLS files; None for no TLS.

    Returns:
        A copy of this process's environment, with their variables.

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


def shard_options(
    index: int,
    count: int,
    *,
    recovery: Recovery,
    checkpoint_root: str = "",
    memory_limit: str = "",
    log_level: str = "info",
) -> list[str]:
    """Returns the options of `persia ps` for one of several shards.

    Args:
        index: The shard's index.
        count: The number of shards.
        recovery: How shards recover; each of them gets its own subfolder.
        checkpoint_root: As for `persia ps`; `""` for none.
        memory_limit: As for `persia ps`; `""` for an equal part of this machine's
            default.
        log_level: As for `persia ps`.
    """
    options = [f"--checkpoint-root={checkpoint_root}"] if checkpoint_root else []
    options += [f"--memory-limit={memory_limit or memory.share_of(count)}"]
    options += [f"--log-level={log_level}"]
    return options + recovery.within(f"ps-{index}").options()


class LocalServers:
    """Servers that this process runs: shards, and then embedding workers.

    They stop when the thread that started them ends, and so with this process,
    however it ends.

    Args:
        folder: A folder for temporary files of the servers.
        env: Their environment.
        signal_mask: The signals that are blocked when they start.
        recovery: How shards recover. If it has a folder, a server that ends is
            restarted.
        recovery_option: The user's option that sets such a folder, for messages.
        logger: Gets messages about servers that have ended.
    """

    def __init__(
        self,
        folder: Path,
        env: Mapping[str, str],
        signal_mask: set[int],
        recovery: Recovery,
        recovery_option: str,
        logger: logging.Logger,
    ) -> None:
        self._folder = folder
        self._env = env
        self._signal_mask = signal_mask
        self._recovery = recovery
        self._recovery_option = recovery_option
        self._logger = logger
        self._servers: list[LaunchedServer] = []
        self._given_up: set[str] = set()

    def start(
        self,
        command: str,
        options: Sequence[list[str]],
        seconds: float,
        rest: Callable[[float], None],
    ) -> list[Address]:
        """Starts servers of one kind and waits until all of them listen.

        Args:
            command: The command of `persia`: `"ps"` or `"worker"`.
            options: The options of each server.
            seconds: How long they may take to start.
            rest: Waits for at most the given seconds; if it raises, so does `start`.

        Returns:
            The address of each server.

        Raises:
            OSError: If a server cannot be run.
            StartError: If a server does not listen in time. Servers that already run
                keep running until `stop`.
        """
        deadline = time.monotonic() + seconds
        started = []
        for index, each in enumerate(options):
            server = LaunchedServer(
                command, index, each, self._folder, self._env, self._signal_mask
            )
            self._servers.append(server)
            started.append(server)
        while not all(server.listens for server in started):
            too_late = time.monotonic() > deadline
            for server in started:
                _check_start(server, seconds, too_late)
            rest(_POLL_SECONDS)
        return [server.address for server in started]

    def tend(self) -> None:
        """Logs which servers have ended, and restarts them if they can recover."""
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
                    "the program's requests to it will fail (with "
                    f"{self._recovery_option} it would come back)"
                )
            self._logger.error(
                "%s (%s, pid %d) ended with exit code %d; %s",
                *(server.title, server.address, server.child.pid, code, outcome),
            )
            if comes_back:
                server.restart()
            else:
                self._given_up.add(server.title)

    def stop(self, rest: Callable[[float], bool]) -> None:
        """Asks the servers to stop, and kills those that do not stop in time.

        Args:
            rest: Waits for at most the given seconds; returns False to kill them now.
        """
        # Workers first: their requests in flight need the shards.
        for shards in (False, True):
            group = [each.child for each in self._servers if each.is_shard == shards]
            stop(group, rest, self.kill)
        for server in self._servers:
            server.child.join_log(_LOG_SECONDS)

    def kill(self) -> None:
        """Kills the servers."""
        for server in self._servers:
            kill(server.child, server.title, self._logger)


def stop(
    children: Sequence[Child], rest: Callable[[float], bool], late: Callable[[], None]
) -> None:
    """Asks processes to stop, and waits until they have ended.

    Args:
        children: The processes.
        rest: As for `LocalServers.stop`.
        late: Called if they do not stop in time, or if `rest` returns False.
    """
    for child in children:
        child.send(signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while any(child.poll() is None for child in children):
        left = deadline - time.monotonic()
        if left <= 0 or not rest(left):
            late()


def kill(child: Child, title: str, logger: logging.Logger) -> None:
    """Kills a process and logs that, unless it has already ended."""
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
