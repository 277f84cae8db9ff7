"""Where a job is: its epoch, its step in this epoch, and its position in the data."""

from __future__ import annotations

from typing import Any

from persia_tf import errors


class PlaceInData:
    """Where a worker of a job is.

    Args:
        data: The dataset of a reader, or None.

    Attributes:
        source: What made the dataset, or None.
        epoch: The epoch that the job is in.
        batch: How many batches of the epoch were trained.
        length: How many batches an epoch has; None if it is not known yet.
        position: The position in the data that `facts` told last.

    Raises:
        TypeError: if `data` is not the dataset of a reader.
    """

    def __init__(self, data: Any) -> None:
        self.source = getattr(data, "persia_source", None)
        if data is not None and self.source is None:
            raise TypeError(
                "`data` must be the dataset that a reader of `ptf.data` returned, "
                "such as `ptf.data.parquet`, before any `map` or other stage. "
                f"Received: data={data!r}"
            )
        self.epoch = 0
        self.batch = 0
        self.position: Any = None
        self.length = self.source.length if self.source is not None else None

    def end_epoch(self, epoch: int, batches: int) -> None:
        """Goes to the beginning of the next epoch.

        Args:
            epoch: The epoch that has ended.
            batches: How many batches were trained since the last call of `facts`.
        """
        self.epoch = epoch + 1
        self.batch = 0
        if self.source is not None:
            self.source.end_epoch(batches)

    def facts(self, batches: int) -> dict[str, Any]:
        """Returns what to save.

        Args:
            batches: How many batches were trained since the last call.
        """
        position, is_beginning = None, not self.batch
        if self.source is not None:
            self.position = self.source.position_after(batches)
            position = list(self.position)
            is_beginning = is_beginning and self.source.is_at_beginning
        return {
            "epoch": self.epoch,
            "batch": self.batch,
            "length": self.length,
            "position": position,
            "is_beginning": is_beginning,
        }

    def put_back(self, facts: dict[str, Any]) -> None:
        """Goes to the place that `facts` described."""
        self._go_to(facts)
        self.length = self.length or facts["length"]
        if self.source is not None and facts["position"] is not None:
            self.source.seek(facts["position"])

    def put_back_from(self, saved: int, workers: int, facts: dict[str, Any]) -> None:
        """Goes to the beginning of an epoch that other workers were to begin.

        Args:
            saved: How many workers there were.
            workers: How many there are.
            facts: What `facts` returned on any of them.

        Raises:
            InvalidArgumentError: if they were within an epoch.
        """
        if not facts.get("is_beginning"):
            raise errors.InvalidArgumentError(
                "within an epoch, a job goes on with as many workers as the checkpoint "
                f"was saved with: start {saved} workers; or save at the end of an "
                "epoch (`save_freq='epoch'`), from which any number can go on. "
                f"Received: a checkpoint of {saved} workers from within epoch "
                f"{facts['epoch']}, and {workers} workers"
            )
        self._go_to(facts)
        if self.source is not None and facts["position"] is not None:
            # All positions begin with the number of the epoch.
            self.source.begin_epoch(facts["position"][0])

    def _go_to(self, facts: dict[str, Any]) -> None:
        self.epoch = facts["epoch"]
        self.batch = facts["batch"]
