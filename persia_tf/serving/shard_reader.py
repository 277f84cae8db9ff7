"""A thread that brings one shard's changes to the tables that follow it."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Protocol

from absl import logging

from persia_tf.following import Changes

# Pauses after failures double from the first to the last, in seconds.
_FIRST_PAUSE = 0.1
_LAST_PAUSE = 5.0


class Shard(Protocol):
    """What is read: a `persia_tf.following.ShardFollower`."""

    def poll(self) -> Changes:
        """Returns what changed since the last call: what that gave is applied."""

    def begin_anew(self) -> None:
        """Says that what the last call gave is not applied."""

    def close(self) -> None:
        """Has the shard forget who follows it; it is not polled any more."""


class Sink(Protocol):
    """What the changes of one shard go to. One thread calls it."""

    def apply(self, changes: Changes) -> tuple[int, int]:
        """Applies what a poll gave; returns rows set, and rows erased."""

    def lost(self) -> None:
        """Is told when changes come late, or not at all any more."""


@dataclasses.dataclass
class ShardProgress:
    """How far the reading of one shard has come.

    Attributes:
        shard: Its address.
        rows: Rows that were set.
        erased: Rows that were erased.
        failures: Rounds that failed.
        current_at: When the last round began that left nothing untold, by
            `time.monotonic()`; None: there was none.
        error: Why the last round failed; "": it did not.
    """

    shard: str
    rows: int = 0
    erased: int = 0
    failures: int = 0
    current_at: float | None = None
    error: str = ""


class Pauses:
    """The pauses after failures, from short to long."""

    def __init__(self) -> None:
        self.reset()

    def next(self) -> float:
        """Returns the next one, in seconds."""
        pause, self._next = self._next, min(2 * self._next, _LAST_PAUSE)
        return pause

    def reset(self) -> None:
        """The next one is the first again."""
        self._next = _FIRST_PAUSE


class ShardReader:
    """Polls a shard until it is stopped, for a sink that applies it. Thread-safe.

    A round is as many polls as it takes until the shard has nothing left to tell. A
    failure ends it; the next one goes on from there.

    Args:
        name: The shard's address, for messages.
        shard: What is polled, by one thread.
        sink: Gets what each poll gave.
        poll_seconds: From the end of a round to the next.
    """

    def __init__(
        self,
        name: str,
        shard: Shard,
        sink: Sink,
        poll_seconds: float,
    ) -> None:
        self._shard = shard
        self._sink = sink
        self._poll_seconds = poll_seconds
        self._pauses = Pauses()
        self._answers = False  # The shard, when it was polled last; the thread's.
        self._applying = threading.Lock()
        self._changed = threading.Condition()
        # All below are guarded by it.
        self._progress = ShardProgress(name)
        self._stopping = False
        self._begun = 0  # Rounds.
        self._current = 0  # The last round that left nothing untold.
        self._wanted = 0  # The round that somebody waits for.
        self._thread = threading.Thread(
            target=self._run, name=f"reader of shard {name}", daemon=True
        )
        self._thread.start()

    @property
    def progress(self) -> ShardProgress:
        """How far it has come."""
        with self._changed:
            return dataclasses.replace(self._progress)

    def begin_stop(self) -> None:
        """Has the thread end; nothing is applied any more but what it is busy with."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def stop(self, seconds: float = 2.0) -> None:
        """The same, and waits until nothing is applied any more.

        Args:
            seconds: For how long to wait for a shard that is asked and does not
                answer. The thread ends by itself after that.
        """
        self.begin_stop()
        self._thread.join(seconds)
        with self._applying:
            self._sink.lost()

    def next_round(self) -> int:
        """Has a round begin soon, and returns its number."""
        with self._changed:
            self._wanted = self._begun + 1
            self._changed.notify_all()
            return self._wanted

    def wait_for(self, round_number: int, deadline: float) -> bool:
        """Waits until that round, or a later one, left nothing untold.

        Args:
            round_number: As `next_round` gave it.
            deadline: Until when, by `time.monotonic()`.

        Returns:
            Whether it did in time.
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
            # Whatever it is, what was applied before goes on serving.
            except Exception as error:
                self._sink.lost()
                self._note_failure(error)
        if self._answers:
            self._shard.close()

    def _begin_round(self) -> bool:
        """Waits for a round's time; False: there is none any more."""
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
            with self._changed:
                self._progress.rows += rows
                self._progress.erased += erased
                if changes.complete:
                    self._note_current(began)
                    return

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
                    "shard %s cannot be followed; what was read of it before goes on "
                    "serving, and it is asked again: %s",
                    *(self._progress.shard, error),
                )
            self._progress.failures += 1
            self._progress.error = f"{type(error).__name__}: {error}"
