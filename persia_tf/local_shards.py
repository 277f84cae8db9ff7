"""Shards of a program on its own machine, for notebooks: `ptf.local_cluster`."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import logging
import os
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from persia_tf import auth, checks, errors, files, session
from persia_tf import tls as tls_lib
from persia_tf.addresses import Address
from persia_tf.cluster import Cluster
from persia_tf.commands import local_servers, log, memory
from persia_tf.commands.local_servers import LocalServers, StartError
from persia_tf.commands.recovering import Recovery
from persia_tf.current_cluster import use_cluster

_LOGGER = logging.getLogger("persia.local_cluster")

_MOST_SHARDS = 256
# How often it is looked whether a shard has ended.
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
    """Makes a cluster of shards that this program starts on its own machine.

    Each shard is a process of its own, `persia ps`, on a free port of 127.0.0.1, as
    `persia launch` starts them. In a `with` statement they start as it begins and
    stop as it ends, and layers that are made in it without a `cluster=` are on them,
    as by `ptf.use_cluster`. Elsewhere, as in a notebook of several cells, `start` and
    `stop` do it. The shards never outlast this program, however it ends, and their
    rows are gone with them, unless there is a `recovery_folder` or a checkpoint was
    saved.

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
        shards: How many. Defaults to `1`.
        recovery_folder: Where each shard logs every change, in a folder of its own. A
            shard that is killed is started again and goes on from there, and so does
            a later local cluster of as many shards with this folder. None: a shard
            that is killed stays away. Defaults to None.
        checkpoint_root: The folder, or URL, that `ptf.checkpoint.save` may write to;
            also the `Cluster`'s, for the tables of models that are large. None: there
            are no checkpoints. Defaults to None.
        memory_limit: What the tables of each shard may take, as `persia ps` reads it:
            `"8GiB"`, `"20%"`. None: all shards together 80% of this machine's memory.
            Defaults to None.
        start_timeout: Seconds that the shards may take to start. Defaults to `60.0`.
        log_level: What the shards log at least, to stderr: `"debug"`, `"info"`,
            `"warning"` or `"error"`. Defaults to `"warning"`.
        **cluster_options: As for `Cluster`: `staleness`, `namespace`, `timeout`, ....

    Returns:
        A `LocalCluster`, whose shards do not run yet.

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
    """Shards of this program; `ptf.local_cluster` makes it. Thread-safe."""

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
        # What is wrong with them is better said before a shard runs.
        self._settings = Cluster(["127.0.0.1:1"], **self._cluster_options)
        self._recovery = Recovery(folder=_path(recovery_folder) or "")
        self._start_timeout = start_timeout
        self._shard_options = [
            local_servers.shard_options(
                *(index, shards),
                recovery=self._recovery,
                checkpoint_root=root or "",
                memory_limit=memory_limit or "",
                log_level=log_level,
            )
            for index in range(shards)
        ]
        self._lock = threading.RLock()
        self._running: _Running | None = None
        self._in_use = contextlib.ExitStack()

    def start(self) -> Cluster:
        """Starts the shards, unless they run, and waits until they serve.

        They run until `stop`, or until this program ends.

        Returns:
            A `ptf.Cluster` of them: the same one until `stop`.

        Raises:
            UnavailableError: if a shard does not start; with what it wrote.
            InvalidArgumentError: if the token file or one of TLS is not as it must be.
        """
        with self._lock:
            if self._running is None:
                env = local_servers.environment(
                    auth.token_file(self._settings.auth_token_file), self._tls()
                )
                running = _Running(
                    *(self._shard_options, env, self._recovery, self._start_timeout)
                )
                addresses = running.addresses()
                running.cluster = Cluster(addresses, **self._cluster_options)
                self._running = running
                atexit.register(self._stop_at_exit)
            return self._running.cluster

    def stop(self) -> None:
        """Stops the shards, if they run, once they have applied this program's updates.

        Layers on them fail from then on. Where others start later, their addresses and
        their `Cluster` are new.

        Raises:
            PersiaError: if an update could not be delivered. The shards are stopped all
                the same.
        """
        with self._lock:
            running, self._running = self._running, None
            # A process that was forked has them not, and leaves them to their parent.
            if running is None or running.process != os.getpid():
                return
            atexit.unregister(self._stop_at_exit)
            try:
                _close_sessions(running.cluster)
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
            self._stop_and_log()  # Lest another error hides the one that came first.

    def __repr__(self) -> str:
        running = self._running
        where = ",".join(running.cluster.shards) if running else "not running"
        return f"<LocalCluster of {len(self._shard_options)} shards, {where}>"

    def _tls(self) -> tls_lib.TLS | None:
        if self._settings.tls is None:
            return tls_lib.of_options()
        return self._settings.tls or None

    def _stop_and_log(self) -> None:
        try:
            self.stop()
        except errors.PersiaError as error:
            _LOGGER.error("updates were lost as the shards stopped: %s", error)

    _stop_at_exit = _stop_and_log


class _Running:
    """Shards that run, with a thread of their own.

    The thread starts them and then stays, since the kernel ends them with it: they must
    end with this process, and not with whichever thread asked for them. It is a daemon,
    so that it is there until the very end.
    """

    cluster: Cluster

    def __init__(
        self,
        options: list[list[str]],
        env: dict[str, str],
        recovery: Recovery,
        start_timeout: float,
    ) -> None:
        self.process = os.getpid()
        self._options = options
        self._env = env
        self._recovery = recovery
        self._start_timeout = start_timeout
        self._stopping = threading.Event()
        self._started: Future[list[Address]] = Future()
        self._thread = threading.Thread(
            target=self._run, name="persia-local-cluster", daemon=True
        )
        self._thread.start()

    def addresses(self) -> list[str]:
        """Waits until all listen; gives where, or stops them and raises."""
        try:
            return [str(address) for address in self._started.result()]
        except (StartError, OSError) as error:
            self.stop()
            raise errors.UnavailableError(_told(error)) from error
        except BaseException:  # Ctrl-C.
            self.stop()
            raise

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with tempfile.TemporaryDirectory(prefix="persia-") as folder:
            servers = LocalServers(
                *(Path(folder), self._env, set()),
                *(self._recovery, "`recovery_folder`", _LOGGER),
            )
            try:
                self._start(servers)
                while not self._stopping.wait(_TEND_SECONDS):
                    servers.tend()
            finally:
                servers.stop(_rest)

    def _start(self, servers: LocalServers) -> None:
        try:
            addresses = servers.start(
                *("ps", self._options, self._start_timeout), self._rest_unless_stopped
            )
        except Exception as error:
            self._stopping.set()
            self._started.set_exception(error)
        else:
            self._started.set_result(addresses)

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
    """The same for every process: what is relative is so to this one's folder."""
    if given is None:
        return None
    path = os.fspath(given)
    return path if files.is_url(path) else os.path.abspath(path)


def _close_sessions(cluster: Cluster) -> None:
    """Ends all sessions with the shards, whose addresses may be another's later."""
    first: errors.PersiaError | None = None
    shards = ",".join(cluster.shards)
    for each in session.open_sessions():
        if each.name.startswith(f"{shards} "):
            try:
                session.close_session(each.name)
            except errors.PersiaError as error:
                first = first or error
    if first is not None:
        raise first
