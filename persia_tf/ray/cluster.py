"""`ptf.ray.Cluster`: shards that run as actors on the nodes of a Ray cluster."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any

from persia_tf import files
from persia_tf.base import checks, sizes
from persia_tf.credentials import tls as tls_lib
from persia_tf.processes import log
from persia_tf.ray import connection as connection_lib
from persia_tf.ray import programs, scaling
from persia_tf.ray.connection import Connection
from persia_tf.ray.losses import Loss
from persia_tf.ray.placement import STRATEGIES
from persia_tf.ray.running import Running
from persia_tf.ray.settings import Settings

_MOST_SERVERS = 4096
_MOST_CACHE_ROWS = 2**32


class Cluster:
    """Shards, and optional workers, that run as actors of a Ray cluster.

    In a `with` statement the servers start on entry and stop on exit. Ray places them
    on its nodes. If a node dies, Ray restarts its servers on other nodes: a shard
    recovers from the newest checkpoint, programs follow it to its new address, and
    training goes on. The updates that came after the checkpoint are lost; they are
    counted in `losses` and logged. With `standbys=1`, the shard's standby takes its
    place instead. See docs/ray.md.

    Example:

    ```python
    import persia_tf as ptf
    from ray.train import ScalingConfig
    from ray.train.tensorflow import TensorflowTrainer

    with ptf.ray.Cluster(shards=4, checkpoint_root="/shared/checkpoints") as cluster:
        trainer = TensorflowTrainer(
            cluster.program("train.py", "--epochs", "3"),
            scaling_config=ScalingConfig(num_workers=2),
        )
        trainer.fit()
    ```

    Args:
        shards: Number of shards. Defaults to `1`.
        standbys: With `1`, each shard has a standby on another node, which takes its
            place if the shard's process or node is lost. See docs/ray.md#standbys.
            Defaults to `0`.
        acknowledge: When a shard answers an update: `"self"`, once its own log has it,
            or `"standby"`, once its standby has it too, so that nothing is lost if the
            shard's node is. Needs `standbys=1`. Defaults to `"self"`.
        log_root: A folder on each node's own disk, with room for the recovery logs of
            shards and standbys. Needs `standbys=1`. Defaults to the node's folder for
            temporary files.
        checkpoint_root: The folder for checkpoints, which all nodes share under this
            path, or a URL such as `"s3://bucket/folder"`.
        name: The name of this cluster's folder of checkpoints in `checkpoint_root`.
            Clusters that run at the same time need different names: a second one of
            the same name does not start. Defaults to `"ray"`.
        checkpoint_interval: Seconds between checkpoints, which the driver saves. None
            for no checkpoints except those of `save` and of the programs themselves.
            Defaults to `600.0`.
        recovery_root: A folder that all nodes share, for records of which tables and
            checkpoints there are. Needed if `checkpoint_root` is a URL. Defaults to
            `checkpoint_root`.
        embedding_workers: Number of embedding workers in front of the shards. Defaults
            to `0`.
        data_workers: Number of data workers, which run the input pipelines of programs
            by tf.data service. Programs find the address of their dispatcher in
            `$PERSIA_DATA`. Defaults to `0`.
        insecure: Whether data workers may run on nodes that other machines reach, with
            neither a token nor TLS: then every program that reaches their ports can
            run TensorFlow's ops on the nodes. Defaults to `False`.
        cache_rows: How many hot rows per table an embedding worker keeps copies of.
            Defaults to `0`.
        worker_timeout: Seconds that a shard may take to answer an embedding worker; it
            should exceed the time in which Ray restarts a shard, and be below the
            programs' own `timeout`. Defaults to `20.0`.
        memory_limit: The memory that the tables of each shard may take: a number of
            bytes, or a str such as `"8GiB"`. It is also the `memory` that Ray reserves
            for the shard. If None, nothing is reserved, and the tables of each shard
            may take an equal part of 80% of its node's memory. Defaults to None.
        cpus: The number of CPUs that Ray reserves for each server. Defaults to `1.0`.
        strategy: How Ray places servers: `"SPREAD"`, `"STRICT_SPREAD"`, `"PACK"` or
            `"STRICT_PACK"`. Defaults to `"SPREAD"`.
        auth_token_file: The driver's file with the token of the servers. The token is
            sent to servers and programs through Ray. Defaults to
            `$PERSIA_AUTH_TOKEN_FILE`, else to a new, random token.
        tls: A `ptf.TLS`, whose files are read on each node, and whose certificates name
            the nodes' IP addresses. Defaults to the files that
            `$PERSIA_TLS_CERTIFICATE`, `$PERSIA_TLS_KEY` and `$PERSIA_TLS_CA` name on
            the driver, else to no TLS; `False` means no TLS.
        start_timeout: Seconds that the placement may take, and then the servers'
            start. Defaults to `120.0`.
        log_level: The lowest level that servers log: `"debug"`, `"info"`, `"warning"`
            or `"error"`. Ray shows their logs in the driver's output. Defaults to
            `"warning"`.

    Raises:
        TypeError: for an argument of another type.
        ValueError: for an argument out of its range.
    """

    def __init__(
        self,
        shards: int = 1,
        *,
        standbys: int = 0,
        acknowledge: str = "self",
        log_root: str | os.PathLike[str] | None = None,
        checkpoint_root: str | os.PathLike[str],
        name: str = "ray",
        checkpoint_interval: float | None = 600.0,
        recovery_root: str | os.PathLike[str] | None = None,
        embedding_workers: int = 0,
        data_workers: int = 0,
        insecure: bool = False,
        cache_rows: int = 0,
        worker_timeout: float = 20.0,
        memory_limit: int | str | None = None,
        cpus: float = 1.0,
        strategy: str = "SPREAD",
        auth_token_file: str | os.PathLike[str] | None = None,
        tls: tls_lib.TLS | bool | None = None,
        start_timeout: float = 120.0,
        log_level: str = "warning",
    ) -> None:
        root = _path(checkpoint_root)
        if checkpoint_interval is not None:
            checks.positive("checkpoint_interval", checkpoint_interval)
        if memory_limit is not None:
            memory_limit = sizes.count_bytes("memory_limit", memory_limit)
        _check_name(name)
        checks.instance("insecure", insecure, bool, "a bool")
        checks.one_of("strategy", strategy, STRATEGIES)
        checks.one_of("log_level", log_level, log.LEVELS)
        checks.integer("standbys", standbys, 0, 1)
        checks.one_of("acknowledge", acknowledge, ("self", "standby"))
        if not standbys and (acknowledge != "self" or log_root is not None):
            raise ValueError(
                "`acknowledge` and `log_root` need standbys, to which shards send "
                f"their logs: give `standbys=1`. Received: standbys={standbys!r}, "
                f"acknowledge={acknowledge!r}, log_root={log_root!r}"
            )
        self._settings = Settings(
            shards=checks.integer("shards", shards, 1, _MOST_SERVERS),
            standbys=standbys,
            acknowledge=acknowledge,
            log_root=_log_root(log_root),
            checkpoint_root=root,
            name=name,
            checkpoint_interval=checkpoint_interval,
            recovery_root=_recovery_root(recovery_root, root),
            embedding_workers=checks.integer(
                "embedding_workers", embedding_workers, 0, _MOST_SERVERS
            ),
            data_workers=checks.integer("data_workers", data_workers, 0, _MOST_SERVERS),
            insecure=insecure,
            cache_rows=checks.integer("cache_rows", cache_rows, 0, _MOST_CACHE_ROWS),
            worker_timeout=checks.positive("worker_timeout", worker_timeout),
            memory_limit=memory_limit,
            cpus=checks.positive("cpus", cpus),
            strategy=strategy,
            auth_token_file=auth_token_file,
            tls=tls_lib.of_argument(tls),
            start_timeout=checks.positive("start_timeout", start_timeout),
            log_level=log_level,
        )
        self._running: Running | None = None
        self._scaling = threading.Lock()

    def start(self) -> Cluster:
        """Starts the servers, unless they run, and waits until they serve.

        Returns:
            This cluster.

        Raises:
            UnavailableError: if Ray finds no room for the servers, or one of them does
                not start; the message says why.
            FailedPreconditionError: if the nodes do not share `checkpoint_root`, or
                another cluster that runs now has the same `checkpoint_root` and `name`.
            InvalidArgumentError: if `checkpoint_root` is a file, if the token file or
                a TLS file of the driver cannot be read or is not valid, or if other
                machines can reach the nodes of `data_workers` without `insecure=True`.
        """
        if self._running is None:
            self._running = Running(self._settings)
        return self

    def stop(self) -> None:
        """Stops the servers, if they run. Rows that were not saved are lost.

        A checkpoint that is being saved is completed first.
        """
        running, self._running = self._running, None
        if running is not None:
            running.stop()

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(self, *raised: Any) -> None:
        self.stop()

    def program(
        self,
        path: str | os.PathLike[str],
        *arguments: str | float | os.PathLike[str],
    ) -> Callable[[], None]:
        """Returns a training loop that runs a program, as `python PATH` would.

        The program runs within the process of the training worker, in the `with` block
        of a `Connection`. It runs with the driver's choice of Keras
        (`TF_USE_LEGACY_KERAS`), which `TensorflowTrainer` would change.

        Args:
            path: The program's file. It must be on each node, under the same path or
                within the `working_dir` of Ray's `runtime_env`.
            *arguments: The program's arguments. Numbers and paths become strings, as
                they would on a command line.

        Returns:
            A function without arguments, for `train_loop_per_worker` of a Ray trainer.
            It raises `RuntimeError` if the program exits with another code than 0.

        Raises:
            TypeError: for an argument that is neither a string, a number nor a path.
        """
        file, folder = os.fspath(path), os.getcwd()
        texts = [programs.argument(each) for each in arguments]
        keras = {"TF_USE_LEGACY_KERAS": os.environ.get("TF_USE_LEGACY_KERAS")}

        def run_program() -> None:
            with connection_lib.environment(keras):
                programs.run(file, folder, texts)

        return self.train_loop(run_program)

    def train_loop(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a training loop that runs connected with the servers.

        Args:
            function: The `train_loop_per_worker` of a Ray trainer.

        Returns:
            A function with the same parameters, which calls `function` in the `with`
            block of a `Connection`.
        """
        connection = self.connection()

        @functools.wraps(function)
        def connected(*arguments: Any, **named: Any) -> Any:
            with connection:
                return function(*arguments, **named)

        return connected

    def connection(self) -> Connection:
        """Returns a new `Connection`, for this process or any process of Ray."""
        running = self._now()
        return Connection(
            [[each] for each in running.workers] or list(running.shards),
            running.token,
            self._settings.tls,
            self._settings.start_timeout,
            running.dispatcher,
            None if running.workers else running.group,
            () if running.workers else tuple(running.numbers),
        )

    def scale(self, shards: int, *, rate: int | str | None = None) -> None:
        """Changes the number of shards while programs use the cluster.

        Shards are added or removed, and rows move until all shards that stay own them
        evenly. No program is stopped; those that run learn of the change. Then a
        checkpoint is saved, and shards that own nothing any more are ended. If the call
        fails, or is interrupted, nothing is lost: call it again, with any number.

        Args:
            shards: The number of shards that there are to be.
            rate: The most bytes of rows that each shard receives per second: a number,
                or a str such as `"100MiB"`. Defaults to no limit.

        Raises:
            FailedPreconditionError: if no program has created a table yet, or another
                cluster has taken the folder of checkpoints.
            UnavailableError: if Ray finds no room for more shards, one of them does not
                start, or a shard does not answer.
            PersiaError: for other reasons, such as a lack of memory for the rows.
        """
        count = checks.integer("shards", shards, 1, _MOST_SERVERS)
        most = 0 if rate is None else sizes.count_bytes("rate", rate)
        running = self._now()
        with self._scaling:
            scaling.scale(running, count, most)

    @property
    def shards(self) -> list[str]:
        """The `"host:port"` of each shard now. It changes when a shard is restarted."""
        return list(self._now().addresses)

    @property
    def actors(self) -> list[Any]:
        """Handles of the actors of shards and standbys, for Ray's own tools."""
        return [actor for each in self._now().shards for actor in each]

    @property
    def losses(self) -> list[Loss]:
        """What shards lost that were restarted, in the order of the restarts.

        Empty with `standbys=1`, with which shards are not restarted from checkpoints.
        """
        return self._now().losses.all()

    @property
    def last_saved(self) -> str | None:
        """The folder of the last checkpoint that the driver saved, or None."""
        return self._now().saving.last_saved

    def save(self) -> str:
        """Saves a checkpoint of all tables, and returns its folder.

        Raises:
            PersiaError: as `ptf.checkpoint.save` does.
        """
        return self._now().saving.save()

    def restore(self, path: str | os.PathLike[str] | None = None) -> str:
        """Restores a checkpoint: see `ptf.checkpoint.restore`.

        Args:
            path: A checkpoint, or a folder of checkpoints. Defaults to this cluster's
                folder in `checkpoint_root`.

        Returns:
            The folder of the checkpoint.

        Raises:
            NotFoundError: if there is no complete checkpoint.
            PersiaError: for the reasons that `ptf.checkpoint.restore` documents.
        """
        folder = self._settings.checkpoint_folder if path is None else path
        return self._now().saving.restore(folder)

    def _now(self) -> Running:
        if self._running is None:
            raise RuntimeError(
                "the servers do not run: use the cluster in a `with` statement, or "
                "call `start` first"
            )
        return self._running


def _check_name(name: str) -> None:
    checks.instance("name", name, str, "a str")
    if not name or name.startswith(".") or "/" in name:
        raise ValueError(
            "`name` must be the name of one folder: not empty, without `/`, and not "
            f"beginning with a dot. Received: name={name!r}"
        )


def _path(given: str | os.PathLike[str]) -> str:
    """Makes a path absolute; URLs stay unchanged."""
    path = os.fspath(given)
    return path if files.is_url(path) else os.path.abspath(path)


def _log_root(given: str | os.PathLike[str] | None) -> str | None:
    if given is not None and files.is_url(os.fspath(given)):
        raise ValueError(
            "`log_root` must be a folder on each node's own disk. Received: "
            f"log_root={given!r}"
        )
    return None if given is None else _path(given)


def _recovery_root(given: str | os.PathLike[str] | None, checkpoint_root: str) -> str:
    root = checkpoint_root if given is None else _path(given)
    if files.is_url(root):
        raise ValueError(
            "`recovery_root` must be a folder that all nodes share, and is needed if "
            "`checkpoint_root` is a URL, since shards cannot keep their records of "
            f"tables at a URL. Received: recovery_root={given!r}, "
            f"checkpoint_root={checkpoint_root!r}"
        )
    return root
