"""The tables of a remote export, whose rows stay on their shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from persia_tf.cluster import Cluster
from persia_tf.ops import load
from persia_tf.ops.absent_rows import AbsentRows
from persia_tf.ops.placement import on_host
from persia_tf.serving.export_manifest import ExportedCluster, ExportedTable
from persia_tf.serving.remote_options import Remote
from persia_tf.table import Table

_NEEDS = (
    "The SavedModel uses an op of persia_tf, which must be loaded first: in Python, "
    "import persia_tf and call persia_tf.serving.load_ops(), or without persia_tf call "
    "tf.load_op_library(PATH); in C, call TF_LoadLibrary(PATH). PATH is the file "
    "_persia_ops.so, with libpersia.so in the folder above it: where persia_tf is "
    "installed, persia_tf.serving.op_library() returns it."
)


class RemoteTable(tf.Module):
    """A table whose lookups are requests to the table's shards.

    Args:
        table: The table.
        live: A variable that the op reads, so that TensorFlow never folds a lookup into
            a constant.
        options: Further attributes of the op: the servers, and how to query them.
    """

    def __init__(
        self, table: Table, live: tf.Variable, options: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self.dim = table.dim
        self._full_name = table.cluster.full_name(table.name)
        self._live = live
        self._options = dict(options)

    def lookup(self, ids: tf.Tensor, absent: AbsentRows) -> tf.Tensor:
        """Looks rows up.

        Args:
            ids: int64, any shape.
            absent: The vectors of ids without a row, which the shards fill in.

        Returns:
            float32, `ids.shape + (dim,)`.
        """
        with on_host():
            rows = load.ops().persia_remote_lookup_of_persia_ops_so(
                ids=ids,
                live=self._live.read_value(),
                table=self._full_name,
                dim=self.dim,
                absent=absent.kind,
                **self._options,
            )
            # The op's shape inference uses the C API, which cannot read the attribute
            # `dim`. So the graph states the shape, also for programs that load it.
            return tf.ensure_shape(rows, ids.shape.concatenate([self.dim]))


class RemoteTables:
    """The tables of a model, for an export that looks up rows on their shards.

    Args:
        tables: The tables by full name.
        remote: The options of the lookups.

    Attributes:
        by_name: A `RemoteTable` for each table, by full name.

    Raises:
        ValueError: if a table is embedded in this process.
        PersiaError: if a shard does not answer in time (the error names the shard).
    """

    def __init__(self, tables: Mapping[str, Table], remote: Remote) -> None:
        _refuse_embedded(tables)
        self._clusters = _named_clusters(tables)
        live = tf.Variable(0.0, trainable=False, name="live")
        self.by_name = {
            name: RemoteTable(table, live, _options(*self._cluster_of(table), remote))
            for name, table in tables.items()
        }
        self._tables = tables

    def told(self) -> dict[str, Any]:
        """Returns the fields of the manifest that describe the tables."""
        return {
            "tables": tuple(
                ExportedTable(
                    *(name, self.by_name[name].dim, "float32", 0, 0),
                    cluster=self._cluster_of(table)[0],
                )
                for name, table in self._tables.items()
            ),
            "clusters": tuple(
                ExportedCluster(name, cluster.shards, f"PERSIA_{name.upper()}")
                for name, cluster in self._clusters.items()
            ),
            "needs": _NEEDS,
        }

    def _cluster_of(self, table: Table) -> tuple[str, Cluster]:
        for name, cluster in self._clusters.items():
            if _key(cluster) == _key(table.cluster):
                return name, cluster
        raise AssertionError("every table has a cluster")


def _refuse_embedded(tables: Mapping[str, Table]) -> None:
    for name, table in tables.items():
        if table.cluster.is_embedded:
            raise ValueError(
                '`mode="remote"` needs tables on shards, which others can ask. Export '
                'with mode="standalone", or train on shards: ptf.Cluster([...]). '
                f"Received: table {name!r}, which is embedded in this process"
            )


def _key(cluster: Cluster) -> tuple[tuple[str, ...], str]:
    return cluster.shards, cluster.wire_dtype


def _named_clusters(tables: Mapping[str, Table]) -> dict[str, Cluster]:
    by_key = {_key(table.cluster): table.cluster for table in tables.values()}
    clusters = list(by_key.values())
    if len(clusters) == 1:
        return {"ps": clusters[0]}
    return {f"ps_{number}": cluster for number, cluster in enumerate(clusters)}


def _options(name: str, cluster: Cluster, remote: Remote) -> dict[str, Any]:
    return {
        "cluster": name,
        "addresses": list(cluster.shards),
        "timeout_seconds": remote.timeout,
        "on_failure": remote.on_failure,
        "hot_rows": remote.hot_rows,
        "hot_seconds": remote.hot_seconds,
        "wire_dtype": cluster.wire_dtype,
    }
