"""What lookups of training batches did, for Keras's logs."""

from __future__ import annotations

from typing import Any

from persia_tf._keras import keras
from persia_tf.telemetry import metrics

# Of `ptf.metrics()`: what grows, of which a batch has a share ...
_GROWING = (
    "lookup_requests",
    "lookup_waits",
    "lookup_wait_seconds",
    "updates",
    "bytes_out",
    "bytes_in",
    "retries",
)
# ... and what is, at the batch's end.
_PRESENT = ("updates_pending", "batches_registered")

_PREFIX = "persia_"


class LookupMetrics(keras.callbacks.Callback):
    """Reports, for every training batch, how its lookups went.

    Each batch's numbers are kept in `batches`, and added to the logs that later
    callbacks see, with a prefix of `persia_`; an epoch's logs, and so
    `fit`'s history, get `persia_staleness_max` and `persia_lookup_wait_seconds`.
    Lookups that run ahead and updates that run behind count for the batch in
    whose time they fall. With `steps_per_execution`, a batch is as many steps.

    Example:

    ```python
    lookups = ptf.callbacks.LookupMetrics()
    model.fit(ptf.data.prefetch(train, model), callbacks=[lookups])
    print(max(batch["staleness"] for batch in lookups.batches))
    ```

    Attributes:
        batches: A dict a batch of the last `fit`: `staleness` (how many steps of
            this program were missing from its rows; None if it looked nothing up
            for training), and by the names of `ptf.metrics()`: `lookup_requests`,
            `lookup_waits`, `lookup_wait_seconds`, `updates`, `bytes_out`,
            `bytes_in`, `retries`, `updates_pending`, `batches_registered`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[dict[str, Any]] = []
        self._epoch_begin = 0
        self._before: dict[str, Any] = {}

    def on_train_begin(self, logs: Any = None) -> None:
        self.batches = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch_begin = len(self.batches)
        self._before = metrics()

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


def _new_staleness(before: dict[str, Any], now: dict[str, Any]) -> int | None:
    """The most that a batch between two readings of the metrics had."""
    old = before["staleness_histogram"]
    grown = [
        staleness
        for staleness, count in enumerate(now["staleness_histogram"])
        if staleness >= len(old) or count > old[staleness]
    ]
    return max((s for s in grown if now["staleness_histogram"][s]), default=None)
