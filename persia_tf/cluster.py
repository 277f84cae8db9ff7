"""`Cluster`: the shards that hold the rows, and this process's session with them."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Sequence
from typing import Any, Literal

from persia_tf import stats, telemetry
from persia_tf.base import checks, sizes
from persia_tf.base.addresses import SHARDS_VARIABLE
from persia_tf.client import embedded, shard_lists
from persia_tf.client import session as session_lib
from persia_tf.client.session import OpenedTable, Session, TableSettings
from persia_tf.credentials import auth
from persia_tf.credentials import tls as tls_lib

WIRE_DTYPES = ("float32", "float16", "bfloat16", "int8", "int4")
MOST_STALENESS = 2**16


class Cluster:
    """The parameter server shards that hold embedding rows.

    If no list of shards is given, the environment names them: the `ps` entries of
    `TF_CONFIG`, else `$PERSIA_PS` (`"host:port,host:port"`). If neither is set, rows
    are embedded, that is, they live in this process.

    The first program that creates a table makes the shards that it lists a cluster.
    Other programs may list them in another order, or only some of them; a list with a
    shard that does not belong to the cluster is refused.

    Clusters of one program that name the same shards share one session with them. The
    first cluster that is used opens the session; the other clusters must have the same
    `staleness`, `wire_dtype`, `hot_rows`, `auth_token_file` and `tls`. Clusters with
    embedded rows share one session under the same condition. A cluster of shards with
    another `timeout`, or with another spelling of an address, gets a session of its
    own, as if it were in another program: it does not wait for the updates of the first
    session, and its staleness does not count them.

    Example:

    ```python
    cluster = ptf.Cluster(["10.0.0.1:7000", "10.0.0.2:7000"], namespace="ads")
    layer = ptf.layers.PersiaEmbedding(16, table="user", cluster=cluster)
    ```

    Args:
        shards: `"host:port"` of each shard, or None for the shards that the environment
            names.
        namespace: A prefix of every table's name, which keeps the tables of several
            jobs on one cluster apart. Defaults to `""`.
        timeout: Seconds after which a request without an answer fails. Defaults to
            `30.0`.
        staleness: The maximum number of earlier steps whose updates of a table may be
            missing from the rows that a training step uses. `0` makes training
            synchronous: a step ends when its updates are applied. This staleness
            applies to datasets without `ptf.data.prefetch`, which has its own
            `staleness`. Defaults to `4`.
        wire_dtype: The dtype in which rows and gradients are sent: `"float32"`,
            `"float16"` (gradients are scaled by their largest magnitude, so that
            small ones do not underflow), `"bfloat16"`, or `"int8"` or `"int4"` with one
            scale per row. It does not change how shards store and update rows. With
            `"int4"`, each number of a looked-up row is off by at most a 14th of the
            row's largest weight. What the encoding of an id's gradient loses is added
            to the next gradient of that id; the program keeps it for the about 2**20
            ids of each table that recur most, and checkpoints hold it. Gradients of
            bags, which an embedding worker pools, are sent as int8. With every dtype
            except `"float32"`, ids are sent in fewer bytes too, in as many as the
            table's range of ids in a request needs. Defaults to `"float32"`.
        hot_rows: The number of rows per table of which this process may hold copies.
            A lookup uses a copy only if the copy lacks no more of this program's
            updates than the lookup's staleness allows. So copies are never used with a
            staleness of 0, or while prefetching uses up all of the staleness. Defaults
            to `0`.
        auth_token_file: A file with the token of the shards, which only the file's
            owner may read (`chmod 600`), or, if root owns it, its group too. Each end
            of a connection proves to the other that it has the token; the token itself
            is never sent. The file is read when the session is opened. Defaults to
            `$PERSIA_AUTH_TOKEN_FILE`, else to no token; `""` means no token, even if
            the environment names one.
        tls: A `ptf.TLS`, with which connections are encrypted and both ends of a
            connection show a certificate. Its files are read when the session is
            opened. Defaults to the files that `$PERSIA_TLS_CERTIFICATE`,
            `$PERSIA_TLS_KEY` and `$PERSIA_TLS_CA` name, else to no TLS; `False` means
            no TLS, even if the environment names files.
        archive_limit: The maximum number of bytes that the rows of one layer may take
            in a file of a model or of its weights: an int, or a str such as `"4GiB"`.
            The limit applies to each layer separately; the rows of a table that several
            layers share are stored once per layer. Defaults to `"1GiB"`.
        checkpoint_root: A folder, as in `ptf.checkpoint.save`, for checkpoints of
            tables that exceed `archive_limit`. Files of models refer to these
            checkpoints, so the checkpoints are never removed. If None, saving a model
            with such a table fails. Defaults to None.

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
            shards = shards_of_environment()  # The function has checked the shards.
        elif isinstance(shards, str) or not shards:
            raise ValueError(
                '`shards` must be a list of "host:port" with at least one entry, or '
                "None to use the shards that the environment names "
                "(Cluster.embedded() keeps rows in this process). "
                f"Received: shards={shards!r}"
            )
        else:
            shards = shard_lists.checked("`shards`", shards)
        checks.instance("namespace", namespace, str, "a str")
        checks.one_of("wire_dtype", wire_dtype, WIRE_DTYPES)
        if not (tls is None or tls is False or isinstance(tls, tls_lib.TLS)):
            raise TypeError(
                "`tls` must be a ptf.TLS, None to use the certificates that the "
                f"environment names, or False to use no TLS. Received: tls={tls!r}"
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
        """Returns a cluster without shards, even if the environment names some.

        Args:
            **options: Arguments of `Cluster` other than `shards`.

        Returns:
            A `Cluster` whose rows live in this process.
        """
        # A placeholder address, so that the environment is not read. It is never
        # contacted.
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
            RuntimeError: if this process is one of several workers and rows are
                embedded: each worker would train its own rows.
            InvalidArgumentError: if the file of a token or of TLS cannot be read or is
                not valid.
        """
        if self.is_embedded:
            _refuse_several_workers()
        telemetry.serve_if_wanted()
        store = self._store or embedded.current_store()
        return session_lib.open_session(self.shards, self._session_options(), store)

    def at_home(self) -> Cluster:
        """Returns this cluster, bound to the current store if rows are embedded.

        A program may have several stores over time: see `persia_tf.client.embedded`.
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
            tls=None if self.is_embedded else tls_lib.of_argument(self.tls),
        )

    def full_name(self, table: str) -> str:
        """Returns the name that a table has on the shards.

        Args:
            table: The table's name, without the namespace.

        Returns:
            `"namespace/table"`, or `table` if there is no namespace.
        """
        return f"{self.namespace}/{table}" if self.namespace else table

    def create_table(
        self, table: str, settings: TableSettings, *, replaces_optimizer: bool = False
    ) -> OpenedTable:
        """Creates a table, or attaches to an existing one with equal settings.

        Args:
            table: The table's name, without the namespace.
            settings: A `TableSettings`.
            replaces_optimizer: Whether to replace the optimizer of a table that has
                another one: the table's rows keep their weights, and their optimizer
                state is reset.

        Returns:
            An `OpenedTable`: how many rows the table already held, and its optimizer.

        Raises:
            PersiaError: if a shard does not answer in time (the message names it), or
                the table has other settings (the message shows the difference).
            FailedPreconditionError: if shards lost their part of the table, or belong
                to different clusters. The message names them; nothing is changed.
            ValueError: if another cluster with these shards and this timeout opened
                the session with another staleness, wire dtype, number of hot rows,
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
            One `persia_tf.stats.ProcessStats` per shard, in the order of `shards`, or a
            single one for the embedded store. If `shards` are embedding workers: for
            each worker, its own counters, followed by the counters of the shards behind
            that worker.

        Raises:
            PersiaError: if a process does not answer in time (the message names it).
        """
        return stats.of_session(self.session.name)

    def shard_stats(self) -> list[stats.ProcessStats]:
        """Returns the counters of the shards only, without those of embedding workers.

        Returns:
            One `persia_tf.stats.ProcessStats` per shard, in the order of the shards. If
            `shards` are embedding workers, these are the shards behind the workers.

        Raises:
            PersiaError: if a shard does not answer in time.
        """
        return stats.shards_of(self.stats())

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

    Training steps do not wait until shards have applied their updates; after `flush()`
    all of these updates are applied to the tables. `evaluate`, `predict` and every
    other lookup that is not for training wait for the updates without a `flush()`.

    Raises:
        PersiaError: if an update could not be delivered.
    """
    session_lib.flush_all()


def shards_of_environment() -> list[str]:
    """Returns the shards that `TF_CONFIG` or `$PERSIA_PS` names, in that order.

    Raises:
        ValueError: if the variable that is set does not parse.
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
