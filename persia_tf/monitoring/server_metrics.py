"""The metrics of a shard, a replica or an embedding worker."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterable
from typing import Any

from persia_tf import _version, stats
from persia_tf.monitoring.families import Metric, add_histogram, families, gauge

SERVER = (
    Metric(
        "bad_frames",
        "persia_server_bad_frames",
        "Connections closed because of malformed data.",
    ),
    Metric(
        "refused_connections",
        "persia_server_refused_connections",
        "Connections refused: no valid certificate or token, or too many connections.",
    ),
    gauge("connections", "persia_server_connections", "Connections open now."),
    Metric("bytes_in", "persia_server_received_bytes", "Bytes of requests."),
    Metric("bytes_out", "persia_server_sent_bytes", "Bytes of replies."),
)

STORE = (
    gauge("generation", "persia_store_generation", "Rises with each restore."),
    gauge(
        "slots",
        "persia_store_slots",
        "Slots of 16384 that the shard owns, or whose rows the replica has.",
    ),
    Metric(
        "repeated_updates",
        "persia_server_repeated_updates",
        "Updates that were skipped, since they were applied before.",
    ),
    Metric(
        "lost_updates",
        "persia_server_lost_updates",
        "At most so many updates are missing from rows recovered from a checkpoint.",
    ),
    gauge("memory_bytes", "persia_store_memory_bytes", "Memory of all tables."),
    gauge(
        "memory_limit",
        "persia_store_memory_limit_bytes",
        "Limit of the memory of all tables; 0: unlimited.",
    ),
)

LOG = (
    Metric("log_records", "persia_log_records", "Records appended to the log."),
    gauge("log_pending", "persia_log_pending_records", "Records not durable yet."),
    gauge("log_bytes", "persia_log_bytes", "Bytes logged since the last base."),
    gauge("log_base_bytes", "persia_log_base_bytes", "Size of the log's last base."),
    gauge(
        "log_failed",
        "persia_log_failed",
        "1 if the log failed: the shard refuses every change until it is restarted.",
    ),
)

CHECKPOINT = (
    Metric("saves", "persia_checkpoint_saves", "Checkpoints that were completed."),
    Metric("restores", "persia_checkpoint_restores", "Checkpoints that were restored."),
    Metric(
        "failed_checkpoints",
        "persia_checkpoint_failures",
        "Saves and restores of checkpoints that failed.",
    ),
    gauge(
        "last_save_unix",
        "persia_checkpoint_last_save_timestamp_seconds",
        "When the process last completed a checkpoint, in Unix time; 0: never.",
    ),
    gauge(
        "checkpoint_running",
        "persia_checkpoint_running",
        "1 while a checkpoint is saved or restored.",
    ),
    gauge(
        "checkpoint_rows",
        "persia_checkpoint_rows",
        "Rows that the running save or restore has written or read.",
    ),
    gauge(
        "checkpoint_total_rows",
        "persia_checkpoint_total_rows",
        "Rows that the running save will write.",
    ),
)

WORKER = (
    Metric(
        "retries",
        "persia_server_retries",
        "Requests that an embedding worker sent to shards again.",
    ),
    Metric(
        "reconnects",
        "persia_server_reconnects",
        "Connections of an embedding worker to shards, after the first to each.",
    ),
)

TABLE = (
    gauge("rows", "persia_table_rows", "Rows."),
    gauge("bytes", "persia_table_bytes", "Memory of rows, optimizer state and index."),
    gauge("index_slots", "persia_table_index_slots", "Rows that the index can hold."),
    Metric("rows_looked_up", "persia_table_looked_up_rows", "Ids in all lookups."),
    Metric("rows_found", "persia_table_found_rows", "Ids of lookups that had a row."),
    Metric("rows_updated", "persia_table_updated_rows", "Gradients applied."),
    Metric(
        "nonfinite_gradients",
        "persia_table_nonfinite_gradients",
        "Gradients skipped: NaN or infinite.",
    ),
    Metric(
        "absent_gradients",
        "persia_table_absent_gradients",
        "Gradients skipped: their id had no row.",
    ),
    Metric("evictions", "persia_table_evicted_rows", "Rows evicted."),
    Metric("refused", "persia_table_refused_ids", "Ids that admission refused."),
)

# An embedding worker has copies of rows. They have names of their own, since a sum over
# servers would else count these rows twice.
COPIES = (
    gauge("rows", "persia_copy_rows", "Copies of rows."),
    gauge("bytes", "persia_copy_bytes", "Memory of copies and of their index."),
    gauge("index_slots", "persia_copy_index_slots", "Copies that may be kept."),
    Metric("rows_looked_up", "persia_copy_looked_up_rows", "Ids in all lookups."),
    Metric("rows_found", "persia_copy_found_rows", "Ids of lookups that had a copy."),
    Metric("evictions", "persia_copy_evicted_rows", "Copies that made room."),
)

TRAINER = (
    Metric("updates", "persia_client_updates", "Updates that a program sent."),
    gauge(
        "staleness",
        "persia_client_staleness_steps",
        "How many of the program's steps were missing from the rows of its newest "
        "training batch.",
    ),
    gauge(
        "idle_millis",
        "persia_client_idle_seconds",
        "Time since the program's last update.",
        scale=1e-3,
    ),
)

_REQUESTS = (
    "persia_server_request_seconds",
    "Time from a request's arrival until its reply is ready.",
)
_FAILURES = Metric(
    "failed", "persia_server_request_failures", "Requests answered with an error."
)
_BEHIND = gauge(
    "behind",
    "persia_replica_behind_seconds",
    "How long ago a replica last had every change of its shard.",
)
_CHECKPOINTS = gauge(
    "enabled",
    "persia_checkpoint_enabled",
    "1 if the shard can save checkpoints: it has a --checkpoint-root.",
)
_READY = gauge("ready", "persia_server_ready", "1 if health checks report serving.")
_LIMIT = gauge(
    "limit",
    "persia_process_memory_limit_bytes",
    "Memory that the process may use: of the machine, or of its control group.",
)
_VOLUME = (
    gauge("free", "persia_volume_free_bytes", "Free space of the folder's volume."),
    gauge("total", "persia_volume_size_bytes", "Size of the folder's volume."),
)

# What the servers of each role report of themselves, and of their tables.
_OF_ROLE = {
    "shard": ((*SERVER, *STORE, *LOG, *CHECKPOINT), TABLE),
    "standby": (SERVER, ()),
    "replica": ((*SERVER, *STORE), TABLE),
    "worker": ((*SERVER, *WORKER), COPIES),
}


class ServerMetrics:
    """A Prometheus collector of one server's statistics.

    Args:
        read: A function that returns the statistics of the server alone.
        is_ready: A function that tells whether health checks report serving.
        folders: Folders whose volumes are reported, by name: "recovery" and
            "checkpoint". A folder at a URL has no volume, and is not reported.
        memory_limit: How much memory this process may use, in bytes.
    """

    def __init__(
        self,
        read: Callable[[], stats.ProcessStats],
        is_ready: Callable[[], bool],
        folders: dict[str, str],
        memory_limit: int,
    ) -> None:
        self._read = read
        self._is_ready = is_ready
        self._folders = folders
        self._memory_limit = memory_limit

    def collect(self) -> Iterable[Any]:
        """Yields the metric families, read now."""
        process = self._read()
        of_process, of_table = _OF_ROLE[process.role]
        yield self._info(process)
        yield from families([_READY], [({}, {"ready": int(self._is_ready())})])
        yield from families([_LIMIT], [({}, {"limit": self._memory_limit})])
        yield from families(of_process, [({}, dataclasses.asdict(process))])
        if process.role == "shard":
            enabled = int("checkpoint" in self._folders)
            yield from families([_CHECKPOINTS], [({}, {"enabled": enabled})])
        yield from self._volumes()
        yield from _requests(process)
        yield from _replica(process)
        yield from families(
            of_table,
            [({"table": t.name}, dataclasses.asdict(t)) for t in process.tables],
            ["table"],
        )
        yield from families(
            TRAINER,
            [
                ({"program": each.program}, dataclasses.asdict(each))
                for each in process.trainers
                if not each.may_have_ended
            ],
            ["program"],
        )

    def _info(self, process: stats.ProcessStats) -> Any:
        from prometheus_client import core

        about = {
            "role": process.role,
            "address": process.address,
            "version": _version.__version__,
            "source": process.source,
        }
        return core.InfoMetricFamily("persia_server", "The server.", value=about)

    def _volumes(self) -> Iterable[Any]:
        volumes = []
        for name, folder in self._folders.items():
            try:
                usage = shutil.disk_usage(folder)
            except OSError:
                continue
            volumes.append(({"folder": name}, usage._asdict()))
        yield from families(_VOLUME, volumes, ["folder"])


def _requests(process: stats.ProcessStats) -> Iterable[Any]:
    from prometheus_client import core

    latencies = core.HistogramMetricFamily(*_REQUESTS, labels=["request"])
    bounds = stats.bucket_bounds()
    for request in process.requests:
        add_histogram(
            latencies, [request.request], bounds, request.buckets, request.seconds
        )
    yield latencies
    yield from families(
        [_FAILURES],
        [({"request": r.request}, {"failed": r.failed}) for r in process.requests],
        ["request"],
    )


def _replica(process: stats.ProcessStats) -> Iterable[Any]:
    behind = process.behind_seconds
    if process.role == "replica" and behind is not None:
        yield from families([_BEHIND], [({}, {"behind": behind})])
