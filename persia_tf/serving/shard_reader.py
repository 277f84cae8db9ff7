"""A thread that polls one shard for changes and applies them."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from absl import logging

from persia_tf.following import Changes

# The shortest and the longest pause after a failure, in seconds. With each further
# failure, the pause doubles.
_FIRST_PAUSE = 0.1
_LAST_PAUSE = 5.0


class Shard(Protocol):
    """The source of changes: a `persia_tf.following.ShardFollower`."""

    def poll(self) -> Changes:
        """Returns the changes since the last call.

        A call confirms that the changes of the previous call were applied.
        """

    def begin_anew(self) -> None:
        """Reports that the changes of the last poll were not applied.

        The next poll then begins with all rows, or with the changes from now on.
        """

    def close(self) -> None:
        """Makes the shard forget this follower. Do not call `poll` afterwards."""


class Sink(Protocol):
    """Applies the changes of one shard. Called by one thread at a time."""

    def apply(self, changes: Changes) -> tuple[int, int]:
        """Applies the changes of a poll; returns the numbers of rows set and erased."""

    def lost(self) -> None:
        """Called when changes may arrive late from now on, or no longer arrive."""

    def leave(self) -> None:
        """Called instead, and at last, when the shard has left the cluster."""


@dataclasses.dataclass
class ShardProgress:
    """The progress in following one shard.

    Attributes:
        shard: The shard's address.
        rows: The number of rows set so far.
        erased: The number of rows erased so far.
        failures: The number of rounds that failed. A round is a series of polls until
            the shard has no further changes.
        current_at: When the last successful round began, by `time.monotonic()`; None
            before the first successful round.
        error: Why the last round failed; empty if the round was successful.
    """

    shard: str
    rows: int = 0
    erased: int = 0
    failures: int = 0
    current_at: float | None = None
    error: str = ""


class Pauses:
    """Yields the pauses after failures: an exponential backoff."""

    def __init__(self) -> None:
        self.reset()

    def next(self) -> float:
        """Returns the next pause, in seconds."""
        pause, self._next = self._next, min(2 * self._next, _LAST_PAUSE)
        return pause

    def reset(self) -> None:
        """Makes the next pause the shortest one, for use after a success."""
        self._next = _FIRST_PAUSE


class ShardReader:
    """Polls a shard until stopped, and passes the changes to a sink. Thread-safe.

    The reader polls in rounds: a round polls until the shard has no further changes. A
    failure ends the round; the next round continues where the failed round ended.

    Args:
        name: The shard's address, for messages.
        shard: The shard to poll. Only this reader's thread uses it.
        sink: Applies the changes of each poll.
        poll_seconds: The pause between two rounds, in seconds.
        on_trouble: Called on the reader's thread when a round has failed, or the shard
            owns other slots than before: the cluster may have other shards.
    """

    def __init__(
        self,
        name: str,
        shard: Shard,
        sink: Sink,
        poll_seconds: float,
        on_trouble: Callable[[], object] = lambda: None,
    ) -> None:
        self._shard = shard
        self._on_trouble = on_trouble
        # Only this reader's thread uses it.
        self._slot_epochs: np.ndarray | None = None
        self._sink = sink
        self._poll_seconds = poll_seconds
        self._pauses = Pauses()
        # Whether the last poll was answered. Only this reader's thread uses it.
        self._answers = False
        self._applying = threading.Lock()
        self._changed = threading.Condition()
        # `_changed` guards all fields below. Rounds are numbered from 1.
        self._progress = ShardProgress(name)
        self._stopping = False
        self._begun = 0  # The number of the last round that began.
        self._current = 0  # The number of the last round that received all changes.
        self._wanted = 0  # The number of the last round that was requested.
        self._thread = threading.Thread(
            target=self._run, name=f"reader of shard {name}", daemon=True
        )
        self._thread.start()

    @property
    def progress(self) -> ShardProgress:
        """A copy of the progress so far."""
        with self._changed:
            return dataclasses.replace(self._progress)

    def begin_stop(self) -> None:
        """Makes the reader's thread end; returns without waiting for that.

        The sink still applies the changes that it has already received.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def stop(self, seconds: float = 2.0) -> None:
        """Makes the reader's thread end, and waits until no more changes are applied.

        Args:
            seconds: The longest wait for a shard that does not answer a poll. The
                thread ends by itself once that poll returns.
        """
        self.begin_stop()
        self._thread.join(seconds)
        with self._applying:
            self._sink.lost()

    def leave(self) -> None:
        """Makes the reader's thread end, since its shard has left the cluster.

        Returns without waiting for that: the shard may no longer answer.
        """
        self.begin_stop()
        with self._applying:
            self._sink.leave()

    def next_round(self) -> int:
        """Requests a round without the usual pause, and returns its number."""
        with self._changed:
            self._wanted = self._begun + 1
            self._changed.notify_all()
            return self._wanted

    def wait_for(self, round_number: int, deadline: float) -> bool:
        """Waits until the given round, or a later round, has received all changes.

        Args:
            round_number: A number that `next_round` returned.
            deadline: When to give up, by `time.monotonic()`.

        Returns:
            Whether such a round received all changes before the deadline, and before
            the reader stopped.
        """
        with self._changed:
            return (
                self._changed.wait_for(
                    lambda: self._current >= round_number or self._stopping,
                    timeout=max(0.0, deadline - time.monotonic()),
                )
                and self._current >= round_number
            )

    def _run(self) -> None:
        while self._begin_round():
            try:
                self._round()
            # On any error, the model continues to serve what was applied before.
            except Exception as error:
                with self._applying:
                    if not self._is_stopping():
                        self._sink.lost()
                self._note_failure(error)
                self._on_trouble()
        if self._answers:
            self._shard.close()

    def _begin_round(self) -> bool:
        """Waits until the next round is due; returns False if the reader stops."""
        with self._changed:
            if self._begun:
                failed = self._progress.error
                pause = self._pauses.next() if failed else self._poll_seconds
                self._changed.wait_for(
                    lambda: self._stopping or self._wanted > self._begun, timeout=pause
                )
            self._begun += 1
            return not self._stopping

    def _round(self) -> None:
        began = time.monotonic()
        while True:
            self._answers = False
            changes = self._shard.poll()
            self._answers = True
            with self._applying:
                if self._is_stopping():
                    return
                rows, erased = self._apply(changes)
            self._look_at_slots(changes)
            with self._changed:
                self._progress.rows += rows
                self._progress.erased += erased
                if changes.complete:
                    self._note_current(began)
                    return

    def _look_at_slots(self, changes: Changes) -> None:
        before, self._slot_epochs = self._slot_epochs, changes.slot_epochs
        if before is not None and (before != changes.slot_epochs).any():
            self._on_trouble()

    def _is_stopping(self) -> bool:
        with self._changed:
            return self._stopping

    def _apply(self, changes: Changes) -> tuple[int, int]:
        try:
            return self._sink.apply(changes)
        except BaseException:
            self._shard.begin_anew()
            raise

    def _note_current(self, began: float) -> None:
        if self._progress.error:
            logging.info("shard %s is followed again", self._progress.shard)
        self._progress.error = ""
        self._pauses.reset()
        self._progress.current_at = began
        self._current = self._begun
        self._changed.notify_all()

    def _note_failure(self, error: Exception) -> None:
        with self._changed:
            if not self._progress.error and not self._stopping:
                logging.warning(
                    "shard %s cannot be followed; the rows that were read from it "
                    "stay in use, and the follower retries: %s",
                    *(self._progress.shard, error),
                )
            self._progress.failures += 1
            self._progress.error = f"{type(error).__name__}: {error}"
