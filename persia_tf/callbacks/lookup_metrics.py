"""Reports metrics of the lookups of training batches in Keras's logs."""

from __future__ import annotations

from typing import Any, NamedTuple

from persia_tf import errors
from persia_tf._keras import keras
from persia_tf.callbacks.model_tables import tables_of
from persia_tf.telemetry import metrics

# Counters of `ptf.metrics()`. The report of a batch has their increases in that batch.
_GROWING = (
    "lookup_requests",
    "lookup_waits",
    "lookup_wait_seconds",
    "updates",
    "bytes_out",
    "bytes_in",
    "retries",
)
# Gauges of `ptf.metrics()`. The report of a batch has their values at the batch's end.
_PRESENT = ("updates_pending", "batches_registered")

_PREFIX = "persia_"


class LookupMetrics(keras.callbacks.Callback):
    """Reports metrics of the lookups of every training batch.

    The numbers of each batch are stored in `batches`. They are also added, with the
    prefix `persia_`, to the logs that Keras passes to later callbacks, such as
    `keras.callbacks.TensorBoard`. Prefetched lookups and asynchronous updates count for
    the batch during which they happen. With `steps_per_execution=n`, n steps count as
    one batch.

    The logs of an epoch, and so the history of `fit`, contain:

    - `persia_staleness_max`: the largest staleness of its batches;
    - `persia_lookup_wait_seconds`: for how long its lookups waited for rows;
    - `persia_bytes_per_batch`: the bytes sent to and received from shards, per batch;
    - `persia_hit_rate`: the share of the ids looked up in the model's tables, by this
      program or others, that had a row already;
    - `persia_rows`: the rows of the model's tables.

    The shards are asked for the last two at the beginning and the end of each epoch.
    These are absent if a shard does not answer within the timeout of its `ptf.Cluster`.

    Example:

    ```python
    lookups = ptf.callbacks.LookupMetrics()
    model.fit(ptf.data.prefetch(train, model), callbacks=[lookups])
    print(max(batch["staleness"] for batch in lookups.batches))
    ```

    In TensorBoard (this callback must come first; see docs/metrics.md for scalars of
    batches):

    ```python
    board = keras.callbacks.TensorBoard("logs")
    model.fit(train, callbacks=[ptf.callbacks.LookupMetrics(), board])
    ```

    Attributes:
        batches: One dict per batch of the last `fit`: `staleness` (how many earlier
            steps of this program were missing from the batch's rows; None if the batch
            had no training lookups), and these numbers of `ptf.metrics()`:
            `lookup_requests`, `lookup_waits`, `lookup_wait_seconds`, `updates`,
            `bytes_out`, `bytes_in`, `retries`, `updates_pending`,
            `batches_registered`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[dict[str, Any]] = []
        self._epoch_begin = 0
        self._rows_before: dict[tuple[str, str, str], _Rows] | None = None
        self._before: dict[str, Any] = {}

    def on_train_begin(self, logs: Any = None) -> None:
        self.batches = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch_begin = len(self.batches)
        self._before = metrics()
        self._rows_before = _rows_of(self.model)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        now = metrics()
        report = {"staleness": _new_staleness(self._before, now)}
        report.update({name: now[name] - self._before[name] for name in _GROWING})
        report.update({name: now[name] for name in _PRESENT})
        self._before = now
        self.batches.append(report)
        if logs is not None:
            known = {k: v for k, v in report.items() if v is not None}
            logs.update({_PREFIX + name: value for name, value in known.items()})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        reports = self.batches[self._epoch_begin :]
        if logs is None or not reports:
            return
        met = [r["staleness"] for r in reports if r["staleness"] is not None]
        logs[_PREFIX + "staleness_max"] = max(met, default=0)
        logs[_PREFIX + "lookup_wait_seconds"] = sum(
            report["lookup_wait_seconds"] for report in reports
        )
        sent = sum(report["bytes_out"] + report["bytes_in"] for report in reports)
        logs[_PREFIX + "bytes_per_batch"] = sent / len(reports)
        self._tell_rows(logs)

    def _tell_rows(self, logs: dict[str, Any]) -> None:
        now, before = _rows_of(self.model), self._rows_before
        if now is None:
            return
        logs[_PREFIX + "rows"] = sum(part.rows for part in now.values())
        if before is None:
            return
        looked_up = found = 0
        for shard, part in now.items():
            old = before.get(shard, _Rows())
            # The counters of a shard that was restarted begin at 0 again.
            if part.looked_up >= old.looked_up:
                looked_up += part.looked_up - old.looked_up
                found += part.found - old.found
        if looked_up:
            logs[_PREFIX + "hit_rate"] = found / looked_up


class _Rows(NamedTuple):
    """Counters of one table on one shard."""

    rows: int = 0
    looked_up: int = 0
    found: int = 0


def _rows_of(model: Any) -> dict[tuple[str, str, str], _Rows] | None:
    """Asks the shards of a model's tables; returns None if one does not answer.

    Returns:
        The counters, by session, shard and table.
    """
    tables = tables_of(model)
    clusters = {session: table.cluster for (session, _), table in tables.items()}
    try:
        return {
            (session, shard.address, part.name): _Rows(
                part.rows, part.rows_looked_up, part.rows_found
            )
            for session, cluster in clusters.items()
            for shard in cluster.shard_stats()
            for part in shard.tables
            if (session, part.name) in tables
        }
    except errors.PersiaError:
        return None


def _new_staleness(before: dict[str, Any], now: dict[str, Any]) -> int | None:
    """Returns the largest staleness of the batches between two readings of metrics.

    Returns None if no training batch looked up rows between the two readings.
    """
    old = before["staleness_histogram"]
    grown = [
        staleness
        for staleness, count in enumerate(now["staleness_histogram"])
        if staleness >= len(old) or count > old[staleness]
    ]
    return max((s for s in grown if now["staleness_histogram"][s]), default=None)
