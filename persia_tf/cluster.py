"""Which shards hold the rows, and the session of this process with them."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Sequence
from typing import Any, Literal

from persia_tf import auth, checks, embedded, shard_lists, sizes, stats
from persia_tf import session as session_lib
from persia_tf import tls as tls_lib
from persia_tf.addresses import SHARDS_VARIABLE
from persia_tf.session import OpenedTable, Session, TableSettings

WIRE_DTYPES = ("float32", "float16", "bfloat16", "int8")
MOST_STALENESS = 2**16


class Cluster:
    """The parameter server shards that hold embedding rows.

    Without a list of shards, they are those of the environment: the `ps`
    entries of `TF_CONFIG`, else `$PERSIA_PS` (`"host:port,host:port"`), else none:
    then rows are embedded, that is, they live in this process.

    The order and the number of shards decide where a row lives, so they are part
    of a table: another order is refused.

    Clusters of one program that name the same shards share one session with them,
    which is opened by the first that is used: layers of others must agree with it on
    `staleness`, `wire_dtype`, `hot_rows`, `auth_token_file` and `tls`; so must those
    that embed rows. Another
    `timeout`, or another name of an address, makes another session, as another
    program would have it: it does not wait for the updates of the first, nor bound
    by them.

    Example:

    ```python
    cluster = ptf.Cluster(["10.0.0.1:7000", "10.0.0.2:7000"], namespace="ads")
    layer = ptf.layers.PersiaEmbedding(16, table="user", cluster=cluster)
    ```

    Args:
        shards: `"host:port"` of each shard, or None for those of the environment.
        namespace: Goes before every table's name, so that jobs on one cluster
            keep apart. Defaults to `""`.
        timeout: Seconds until a request that a shard does not answer fails.
            Defaults to `30.0`.
        staleness: How many earlier steps that update a table may be missing from
            the rows that a training step uses. `0` makes training synchronous: a
            step ends when its updates are applied. It is for datasets without
            `ptf.data.prefetch`, which has a staleness of its own. Defaults to
            `4`.
        wire_dtype: How rows and gradients travel: `"float32"`, `"float16"`
            (gradients scaled by their largest magnitude, so that small ones
            survive), `"bfloat16"`, or `"int8"` with a scale a row. Shards hold
            and step rows as before. Defaults to `"float32"`.
        hot_rows: How many rows of each table this process may keep copies of.
            A copy serves a lookup if it misses no more updates of this program
            than the lookup may: with a staleness of 0, or while all the
            staleness is spent on prefetching, it never does. Defaults to `0`.
        auth_token_file: A file with the token that the shards have, which only its
            owner may read (`chmod 600`). Each end proves to the other that it has
            the token, which is never sent. It is read when the session is opened.
            Defaults to `$PERSIA_AUTH_TOKEN_FILE`, else to no token; `""` is none,
            whatever the environment says.
        tls: A `ptf.TLS`: encrypts connections, by certificates that both ends show.
            Its files are read when the session is opened. Defaults to what
            `$PERSIA_TLS_CERTIFICATE`, `$PERSIA_TLS_KEY` and `$PERSIA_TLS_CA` name,
            else to none; `False` is none, whatever the environment says.
        archive_limit: The most bytes of rows of one layer that a file of a model, or
            of its weights, may hold: an int, or a str such as `"4GiB"`. A file may hold
            as many times that as the model has layers of this kind, and holds a table
            that layers share once for each of them. Defaults to `"1GiB"`.
        checkpoint_root: A folder, as `ptf.checkpoint.save` takes it, for the
            checkpoints of tables that are larger: files of models refer to them, so
            none is ever removed. None: such models are not saved. Defaults to None.

    Raises:
        TypeError: for an argument of another type.
        ValueError: for an empty list, an argument out of its range, or a
            `TF_CONFIG` or `$PERSIA_PS` that does not parse.
    """

    def __init__(
        self,
        shards: Sequence[str] | None = None,
        *,
        namespace: str = "",
        timeout: float = 30.0,
        staleness: int = 4,
        wire_dtype: str = "float32",
        hot_rows: int = 0,
        auth_token_file: str | os.PathLike[str] | None = None,
        tls: tls_lib.TLS | Literal[False] | None = None,
        archive_limit: int | str = "1GiB",
        checkpoint_root: str | os.PathLike[str] | None = None,
    ) -> None:
        if shards is None:
            shards = shards_of_environment()  # Checked, and told of by their source.
        elif isinstance(shards, str) or not shards:
            raise ValueError(
                '`shards` must be a list of "host:port" with at least one entry, or '
                "None for those of the environment (Cluster.embedded() keeps rows in "
                f"this process). Received: shards={shards!r}"
            )
        else:
            shards = shard_lists.checked("`shards`", shards)
        checks.instance("namespace", namespace, str, "a str")
        checks.one_of("wire_dtype", wire_dtype, WIRE_DTYPES)
        if not (tls is None or tls is False or isinstance(tls, tls_lib.TLS)):
            raise TypeError(
                "`tls` must be a ptf.TLS, or None for that of the environment, or "
                f"False for none. Received: tls={tls!r}"
            )
        self.shards = tuple(shards)
        self._store: str | None = None
        self.namespace = namespace
        self.timeout = checks.positive("timeout", timeout)
        self.staleness = checks.integer("staleness", staleness, 0, MOST_STALENESS)
        self.wire_dtype = wire_dtype
        self.hot_rows = checks.integer("hot_rows", hot_rows, 0, 2**32)
        self.auth_token_file = (
            None if auth_token_file is None else os.fspath(auth_token_file)
        )
        self.tls = tls
        self.archive_limit = sizes.count_bytes("archive_limit", archive_limit)
        self.checkpoint_root = (
            None if checkpoint_root is None else os.fspath(checkpoint_root)
        )

    @classmethod
    def embedded(cls, **options: Any) -> Cluster:
        """Returns the cluster without shards, whatever the environment says.

        Args:
            **options: As for `Cluster`.

        Returns:
            A `Cluster` whose rows live in this process.
        """
        # Any address, which is never asked.
        cluster = cls(["embedded:1"], **options)
        cluster.shards = ()
        return cluster

    @property
    def is_embedded(self) -> bool:
        """Whether rows live in this process: True if `shards` is empty."""
        return not self.shards

    @property
    def session(self) -> Session:
        """The session of this process with the shards, opened on first use.

        Raises:
            RuntimeError: if rows would be embedded in each of several workers.
        """
        if self.is_embedded:
            _refuse_several_workers()
        store = self._store or embedded.current_store()
        return session_lib.open_session(self.shards, self._session_options(), store)

    def at_home(self) -> Cluster:
        """Returns this cluster; of the embedded ones, one of the store of now.

        A program may come to have several stores: see `persia_tf.embedded`.
        """
        if not self.is_embedded or self._store is not None:
            return self
        at_home = copy.copy(self)
        at_home._store = embedded.current_store()
        return at_home

    def _session_options(self) -> session_lib.SessionOptions:
        return session_lib.SessionOptions(
            timeout=self.timeout,
            staleness=self.staleness,
            wire_dtype=self.wire_dtype,
            hot_rows=self.hot_rows,
            auth_token_file=(
                "" if self.is_embedded else auth.token_file(self.auth_token_file)
            ),
            tls=None if self.is_embedded else self._tls(),
        )

    def _tls(self) -> tls_lib.TLS | None:
        if self.tls is None:
            return tls_lib.of_options()
        return self.tls or None

    def full_name(self, table: str) -> str:
        """Returns the name by which the shards know a table.

        Args:
            table: Its name, without the namespace.

        Returns:
            `"namespace/table"`, or `table` if there is no namespace.
        """
        return f"{self.namespace}/{table}" if self.namespace else table

    def create_table(
        self, table: str, settings: TableSettings, *, replaces_optimizer: bool = False
    ) -> OpenedTable:
        """Makes a table, or attaches to one with equal settings.

        Args:
            table: The table's name, without the namespace.
            settings: A `TableSettings`.
            replaces_optimizer: Whether a table of another optimizer gets this one:
                its rows keep their weights, and their state begins anew.

        Returns:
            An `OpenedTable`: how many rows it already held, and its optimizer.

        Raises:
            PersiaError: if a shard does not answer in time (it is named), or the
                table has other settings (what differs is shown).
            FailedPreconditionError: if shards lost their part of the table, or are
                not of one cluster. They are named, and nothing is changed.
            ValueError: if another cluster of these shards and this time-out opened
                their session with another staleness, wire dtype, number of hot rows,
                token file or TLS.
        """
        session = self.session
        session.check_same(self._session_options())
        return session.create_table(
            self.full_name(table), settings, replaces_optimizer=replaces_optimizer
        )

    def flush(self) -> None:
        """Waits until the shards have applied every update of this process.

        Raises:
            PersiaError: if an update could not be delivered.
        """
        self.session.flush()

    def stats(self) -> list[stats.ProcessStats]:
        """Returns the counters of every shard, or of the embedded store.

        Returns:
            A `persia_tf.stats.ProcessStats` a shard, in the order of `shards`; one for
            the embedded store. Where `shards` are embedding workers, each worker's own
            and then those of the shards behind it.

        Raises:
            PersiaError: if one does not answer in time (it is named).
        """
        return stats.of_session(self.session.name)

    def shard_stats(self) -> list[stats.ProcessStats]:
        """Reads the counters of the shards alone.

        Returns:
            A `persia_tf.stats.ProcessStats` a shard, in their order: where `shards`
            are embedding workers, of the shards behind them.

        Raises:
            PersiaError: if a shard does not answer in time.
        """
        processes = self.stats()
        # Of servers that are embedding workers each tells of itself, and then of
        # the same shards as the others.
        told = len(processes) // max(1, len(self.shards))
        return processes[1:told] if told > 1 else processes

    def get_config(self) -> dict[str, Any]:
        return {
            "shards": list(self.shards),
            "namespace": self.namespace,
            "timeout": self.timeout,
            "staleness": self.staleness,
            "wire_dtype": self.wire_dtype,
            "hot_rows": self.hot_rows,
            "auth_token_file": self.auth_token_file,
            "tls": self.tls.get_config() if self.tls else self.tls,
            "archive_limit": self.archive_limit,
            "checkpoint_root": self.checkpoint_root,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Cluster:
        config = dict(config)
        shards = config.pop("shards")
        if config.get("tls"):
            config["tls"] = tls_lib.TLS(**config["tls"])
        return cls(shards, **config) if shards else cls.embedded(**config)

    def __repr__(self) -> str:
        where = "embedded" if self.is_embedded else ",".join(self.shards)
        return f"<Cluster {where} namespace={self.namespace!r}>"


def flush() -> None:
    """Waits until every update that this process committed has been applied.

    Pushes leave the training step's critical path; after `flush()` they are in
    the tables. `evaluate`, `predict` and any lookup that is not for training wait
    for them by themselves.

    Raises:
        PersiaError: if an update could not be delivered.
    """
    session_lib.flush_all()


def shards_of_environment() -> list[str]:
    """Returns the shards that `TF_CONFIG` or `$PERSIA_PS` names, in that order.

    Raises:
        ValueError: if what is set does not parse.
    """
    shards = _tf_config_cluster().get("ps", [])
    if shards:
        return shard_lists.checked("`ps` of TF_CONFIG", shards)
    listed = os.environ.get(SHARDS_VARIABLE, "")
    return shard_lists.parsed(f"${SHARDS_VARIABLE}", listed)


def _tf_config_cluster() -> dict[str, list[str]]:
    text = os.environ.get("TF_CONFIG", "")
    if not text.strip():
        return {}
    try:
        return dict(json.loads(text).get("cluster", {}))
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(
            "TF_CONFIG must be a JSON object with an object `cluster`. "
            f"Received: TF_CONFIG={text!r}"
        ) from error


def _refuse_several_workers() -> None:
    cluster = _tf_config_cluster()
    workers = len(cluster.get("worker", [])) + len(cluster.get("chief", []))
    if workers > 1:
        raise RuntimeError(
            f"TF_CONFIG names {workers} workers but no parameter server shards, so "
            "each worker would train embedding rows of its own. Start shards with "
            "`persia ps` and name them in TF_CONFIG's `ps`, in $PERSIA_PS, or with "
            "`ptf.Cluster([...])`."
        )
