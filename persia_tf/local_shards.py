"""`ptf.local_cluster`: shards that a program starts on its own machine."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import logging
import os
import tempfile
import threading
import time
from collections.abc import Collection
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from persia_tf import errors, files
from persia_tf.base import checks
from persia_tf.base.addresses import Address
from persia_tf.client import session
from persia_tf.cluster import Cluster
from persia_tf.credentials import auth
from persia_tf.credentials import tls as tls_lib
from persia_tf.current_cluster import use_cluster
from persia_tf.processes import local_servers, log, memory, shard_folders
from persia_tf.processes.local_servers import LocalServers, StartError

_LOGGER = logging.getLogger("persia.local_cluster")

_MOST_SHARDS = 256
# Seconds between two checks for shard processes that have ended.
_TEND_SECONDS = 0.5
_POLL_SECONDS = 0.02


def local_cluster(
    shards: int = 1,
    *,
    recovery_folder: str | os.PathLike[str] | None = None,
    checkpoint_root: str | os.PathLike[str] | None = None,
    memory_limit: str | None = None,
    start_timeout: float = 60.0,
    log_level: str = "warning",
    **cluster_options: Any,
) -> LocalCluster:
    """Creates a cluster of shards that this program starts on its own machine.

    Each shard is a `persia ps` process on a free port of 127.0.0.1, as `persia launch`
    starts them. In a `with` statement, the shards start on entry and stop on exit, and
    layers that are created inside it without a `cluster=` use them, as with
    `ptf.use_cluster`. Elsewhere, as in a notebook of several cells, call `start` and
    `stop`. The shards never outlive this program, however it ends, and their rows are
    lost with them, unless there is a `recovery_folder` or a checkpoint was saved.

    Example:

    ```python
    with ptf.local_cluster(shards=2) as cluster:
        layer = ptf.layers.PersiaEmbedding(16, table="user")
        ...
        print(cluster.stats())
    ```

    In a notebook:

    ```python
    local = ptf.local_cluster(shards=2)
    cluster = local.start()
    layer = ptf.layers.PersiaEmbedding(16, table="user", cluster=cluster)
    ...
    local.stop()
    ```

    Args:
        shards: Number of shards. Defaults to `1`.
        recovery_folder: The folder of the recovery logs: each shard logs every change
            to its own subfolder. A shard that is killed is restarted and recovers from
            its log. A later local cluster with this folder and the same number of
            shards also recovers from the logs. If None, a shard that is killed is not
            restarted. Defaults to None.
        checkpoint_root: The folder, or URL, that `ptf.checkpoint.save` may write to. It
            is also the `Cluster`'s `checkpoint_root`, for models with large tables. If
            None, no checkpoints can be saved. Defaults to None.
        memory_limit: The memory that the tables of each shard may take, in the form
            that `persia ps` accepts: `"8GiB"`, `"20%"`. If None, all shards together
            may take 80% of this machine's memory. Defaults to None.
        start_timeout: Seconds that the shards may take to start. Defaults to `60.0`.
        log_level: The lowest level that the shards log to stderr: `"debug"`, `"info"`,
            `"warning"` or `"error"`. Defaults to `"warning"`.
        **cluster_options: Further arguments of `Cluster`: `staleness`, `namespace`,
            `timeout` and others.

    Returns:
        A `LocalCluster`, whose shards are not started yet.

    Raises:
        TypeError: for an argument of another type, or an unknown one.
        ValueError: for an argument out of its range.
    """
    return LocalCluster(
        checks.integer("shards", shards, 1, _MOST_SHARDS),
        recovery_folder=recovery_folder,
        checkpoint_root=checkpoint_root,
        memory_limit=memory_limit,
        start_timeout=checks.positive("start_timeout", start_timeout),
        log_level=log_level,
        cluster_options=cluster_options,
    )


class LocalCluster:
    """Shards that this program runs; see `ptf.local_cluster`. Thread-safe."""

    def __init__(
        self,
        shards: int,
        *,
        recovery_folder: str | os.PathLike[str] | None,
        checkpoint_root: str | os.PathLike[str] | None,
        memory_limit: str | None,
        start_timeout: float,
        log_level: str,
        cluster_options: dict[str, Any],
    ) -> None:
        checks.one_of("log_level", log_level, log.LEVELS)
        _check_memory_limit(memory_limit)
        root = _path(checkpoint_root)
        self._cluster_options = {**cluster_options, "checkpoint_root": root}
        # Creates a cluster only to check its options before any shard is started.
        self._settings = Cluster(["127.0.0.1:1"], **self._cluster_options)
        folder = _path(recovery_folder)
        self._recovers = folder is not None
        self._start_timeout = start_timeout
        values = {
            "checkpoint_root": root,
            "memory_limit": memory_limit,
        }
        self._shard_options = [
            local_servers.shard_command_line(
                shard_folders.serving(folder, index), shards, values, log_level
            )
            for index in range(shards)
        ]
        self._lock = threading.RLock()
        self._running: _Running | None = None
        self._in_use = contextlib.ExitStack()

    def start(self) -> Cluster:
        """Starts the shards, unless they are running, and waits until they serve.

        They run until `stop` is called or this program ends.

        Returns:
            A `ptf.Cluster` of the shards: the same object until `stop`.

        Raises:
            UnavailableError: if a shard does not start; the message contains what the
                shard wrote.
            InvalidArgumentError: if the token file or a TLS file cannot be read or is
                not valid.
        """
        with self._lock:
            if self._running is None:
                env = local_servers.environment(
                    auth.token_file(self._settings.auth_token_file),
                    tls_lib.of_argument(self._settings.tls),
                )
                running = _Running(
                    *(self._shard_options, env, self._recovers, self._start_timeout)
                )
                addresses = running.addresses()
                _end_former_sessions(addresses)
                running.cluster = Cluster(addresses, **self._cluster_options)
                self._running = running
                atexit.register(self._stop_at_exit)
            return self._running.cluster

    def stop(self) -> None:
        """Stops the shards, if they run, once they have applied this program's updates.

        Layers that use the shards fail from then on. A later `start` gives new
        addresses and a new `Cluster`.

        Raises:
            PersiaError: if an update could not be delivered. The shards are stopped
                anyway.
        """
        with self._lock:
            running, self._running = self._running, None
            # In a child that was forked, nothing is stopped: the shards belong to the
            # parent.
            if running is None or running.process != os.getpid():
                return
            atexit.unregister(self._stop_at_exit)
            try:
                session.close_sessions_of(running.cluster.shards)
            finally:
                running.stop()

    def __enter__(self) -> Cluster:
        cluster = self.start()
        self._in_use.enter_context(use_cluster(cluster))
        return cluster

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._in_use.close()
        if error is None:
            self.stop()
        else:
            # Errors of `stop` are logged, so that they do not hide the block's own
            # error.
            self._stop_and_log()

    def __repr__(self) -> str:
        running = self._running
        where = ",".join(running.cluster.shards) if running else "not running"
        return f"<LocalCluster of {len(self._shard_options)} shards, {where}>"

    def _stop_and_log(self) -> None:
        try:
            self.stop()
        except errors.PersiaError as error:
            _LOGGER.error("updates were lost as the shards stopped: %s", error)

    _stop_at_exit = _stop_and_log


def _end_former_sessions(addresses: Collection[str]) -> None:
    """Closes sessions with servers that have ended, and had these addresses before."""
    try:
        session.close_sessions_of(addresses)
    except errors.PersiaError as error:
        _LOGGER.error("updates for shards that have ended were lost: %s", error)


class _Running:
    """Running shards, with a thread that starts and supervises them.

    The kernel stops a shard when the thread that started the shard ends. The shards
    must end with this process, not with the thread that called `start`. So a daemon
    thread, which lives until the process ends, starts the shards.
    """

    cluster: Cluster

    def __init__(
        self,
        options: list[list[str]],
        env: dict[str, str],
        recovers: bool,
        start_timeout: float,
    ) -> None:
        self.process = os.getpid()
        self._options = options
        self._env = env
        self._recovers = recovers
        self._start_timeout = start_timeout
        self._stopping = threading.Event()
        self._started: Future[list[Address]] = Future()
        self._thread = threading.Thread(
            target=self._run, name="persia-local-cluster", daemon=True
        )
        self._thread.start()

    def addresses(self) -> list[str]:
        """Waits until all shards listen and returns their addresses.

        On failure, it stops the shards and raises.
        """
        try:
            return [str(address) for address in self._started.result()]
        except (StartError, OSError) as error:
            self.stop()
            raise errors.UnavailableError(_told(error)) from error
        except BaseException:  # Such as KeyboardInterrupt, after Ctrl-C.
            self.stop()
            raise

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with tempfile.TemporaryDirectory(prefix="persia-") as folder:
            servers = LocalServers(
                *(Path(folder), self._env, set()),
                recovers=self._recovers,
                recovery_option="`recovery_folder`",
                logger=_LOGGER,
            )
            try:
                self._start(servers)
                while not self._stopping.wait(_TEND_SECONDS):
                    servers.tend()
            finally:
                servers.stop(_rest)

    def _start(self, servers: LocalServers) -> None:
        try:
            started = servers.start(
                *("ps", self._options, self._start_timeout), self._rest_unless_stopped
            )
        except Exception as error:
            self._stopping.set()
            self._started.set_exception(error)
        else:
            self._started.set_result([server.address for server in started])

    def _rest_unless_stopped(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise StartError("the shards were stopped before they listened")


def _check_memory_limit(given: str | None) -> None:
    if given is None:
        return
    try:
        memory.limit(given)
    except (argparse.ArgumentTypeError, TypeError) as error:
        raise ValueError(
            '`memory_limit` must be None, a number of bytes as "8GiB", a share of this '
            'machine\'s memory as "20%", or "unlimited". '
            f"Received: memory_limit={given!r}"
        ) from error


def _rest(seconds: float) -> bool:
    time.sleep(min(seconds, _POLL_SECONDS))
    return True


def _told(error: StartError | OSError) -> str:
    if isinstance(error, OSError):
        return f"a shard cannot be run: {error}"
    remedy = " Give `start_timeout` more seconds." if error.is_late else ""
    wrote = f" It wrote:\n{error.log}" if error.log else " It wrote nothing."
    return f"{error}.{remedy}{wrote}"


def _path(given: str | os.PathLike[str] | None) -> str | None:
    """Makes a path absolute, since shards may run elsewhere; URLs stay unchanged."""
    if given is None:
        return None
    path = os.fspath(given)
    return path if files.is_url(path) else os.path.abspath(path)
