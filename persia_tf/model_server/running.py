"""Runs signatures: limits concurrent runs, and batches requests if asked to."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np

from persia_tf import errors
from persia_tf.model_server import status
from persia_tf.model_server.metrics import Metrics
from persia_tf.model_server.signature import Arrays, Signature

Outputs = dict[str, np.ndarray]


class Gate:
    """Limits the requests that run or wait; further ones are refused immediately.

    Args:
        most: The limit.
        metrics: Counts them.
    """

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most = most
        self._places = threading.Semaphore(most)
        self._metrics = metrics

    @contextlib.contextmanager
    def admitted(self) -> Iterator[None]:
        """Holds a place for a request.

        Raises:
            PersiaError: If there is no free place: with the code RESOURCE_EXHAUSTED.
        """
        if not self._places.acquire(blocking=False):
            raise self._full()
        self._metrics.under_way.inc()
        try:
            yield
        finally:
            self._metrics.under_way.dec()
            self._places.release()

    def check(self) -> None:
        """Raises, as `admitted` does, if there is no free place now."""
        if not self._places.acquire(blocking=False):
            raise self._full()
        self._places.release()

    def _full(self) -> errors.PersiaError:
        return errors.PersiaError(
            f"{self._most} requests run or wait, which is the limit: try again, or "
            "raise --max-requests",
            status.RESOURCE_EXHAUSTED,
        )


class Runner:
    """Runs requests, some at a time; the others wait. Thread-safe.

    Requests are joined into a batch along their first axis, if `max_batch_size` says so
    and the signature allows it: requests that arrive while all slots are in use have to
    wait anyway, and then run as one. A request that finds a free slot is not delayed,
    unless `batch_timeout` is set.

    Args:
        threads: How many runs there may be at a time, each on its caller's thread.
        metrics: Counts runs.
        max_batch_size: The largest number of examples in a batch. 0: no batching.
        batch_timeout: How long a request waits for others to join it, even if a slot is
            free, in seconds.
    """

    def __init__(
        self,
        threads: int,
        metrics: Metrics,
        max_batch_size: int = 0,
        batch_timeout: float = 0.0,
    ) -> None:
        self._slots = threading.Semaphore(threads)
        self._metrics = metrics
        self._max_batch_size = max_batch_size
        self._batch_timeout = batch_timeout
        self._lock = threading.Lock()
        # The batches that requests may still join.
        self._open: dict[Any, _Batch] = {}

    def run(self, signature: Signature, arrays: Arrays, deadline: float) -> Outputs:
        """Returns a signature's outputs for arrays that it has checked.

        Args:
            signature: The signature.
            arrays: Its inputs.
            deadline: When to stop waiting for a slot, on `time.monotonic()`'s clock. A
                request that runs by itself is not interrupted.

        Raises:
            PersiaError: If the model fails, or there is no result in time.
        """
        examples = signature.examples(arrays)
        if examples is None or examples >= self._max_batch_size:
            with self._slot(lambda: deadline):
                return signature.run(arrays)
        request = _Request(arrays, examples, deadline)
        key = _key(signature, arrays)
        batch, leads = self._join(key, signature, request)
        if leads:
            self._lead(key, batch)
        return request.result()

    def _join(
        self, key: Any, signature: Signature, request: _Request
    ) -> tuple[_Batch, bool]:
        """Adds a request to a batch. Returns the batch, and whether it is its first."""
        with self._lock:
            batch = self._open.get(key)
            if batch is not None:
                if batch.examples + request.examples <= self._max_batch_size:
                    batch.add(request)
                    if batch.examples == self._max_batch_size:
                        self._close(key, batch)
                    return batch, False
                self._close(key, batch)
            batch = self._open[key] = _Batch(signature)
            batch.add(request)
            return batch, True

    def _lead(self, key: Any, batch: _Batch) -> None:
        """Runs a batch on the thread of its first request, or fails all of it."""
        try:
            if self._batch_timeout:
                batch.closed.wait(self._batch_timeout)
            with self._slot(lambda: batch.deadline):
                with self._lock:
                    self._close(key, batch)
                self._metrics.batches.observe(len(batch.requests))
                batch.run()
        except BaseException as error:
            with self._lock:
                self._close(key, batch)
            batch.fail(status.as_persia_error(error))
            if not isinstance(error, errors.PersiaError):
                raise

    def _close(self, key: Any, batch: _Batch) -> None:
        """Closes a batch: no request can join it any more."""
        if self._open.get(key) is batch:
            del self._open[key]
        batch.closed.set()

    @contextlib.contextmanager
    def _slot(self, deadline: Any) -> Iterator[None]:
        """Holds a slot to run in. The deadline may move while it waits for one."""
        while not self._slots.acquire(timeout=max(0, deadline() - time.monotonic())):
            if deadline() <= time.monotonic():
                raise late()
        try:
            yield
        finally:
            self._slots.release()


class _Request:
    """A request in a batch."""

    def __init__(self, arrays: Arrays, examples: int, deadline: float) -> None:
        self.arrays = arrays
        self.examples = examples
        self.deadline = deadline
        self._done = threading.Event()
        self._outputs: Optional[Outputs] = None  # noqa: UP045
        # The code and the message of the error. The error itself would keep this
        # object, by the frames of its traceback, until the next garbage collection.
        self._failure: Optional[tuple[int, str]] = None  # noqa: UP045

    def succeed(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._done.set()

    def fail(self, error: errors.PersiaError) -> None:
        if not self._done.is_set():
            self._failure = error.code, str(error)
            self._done.set()

    def result(self) -> Outputs:
        """Waits for the result, until the request's deadline."""
        self._done.wait(max(0, self.deadline - time.monotonic()))
        if self._failure is not None:
            raise errors.from_code(*self._failure)
        if self._outputs is None:
            raise late()
        return self._outputs


class _Batch:
    """Requests of one signature that run together.

    Attributes:
        requests: The requests that have joined so far.
        examples: The number of their examples.
        deadline: The latest of their deadlines.
        closed: Set once no request can join any more.
    """

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self.requests: list[_Request] = []
        self.examples = 0
        self.deadline = 0.0
        self.closed = threading.Event()

    def add(self, request: _Request) -> None:
        self.requests.append(request)
        self.examples += request.examples
        self.deadline = max(self.deadline, request.deadline)

    def run(self) -> None:
        """Runs all requests together; each by itself if that fails."""
        outputs = self._run_joined() if len(self.requests) > 1 else None
        if outputs is None:
            for request in self.requests:
                self._run_alone(request)
            return
        ends = np.cumsum([request.examples for request in self.requests])
        for request, end in zip(self.requests, ends):
            own = slice(end - request.examples, end)
            request.succeed({name: array[own] for name, array in outputs.items()})

    def fail(self, error: errors.PersiaError) -> None:
        """Fails the requests that have no result yet."""
        for request in self.requests:
            request.fail(error)

    def _run_joined(self) -> Outputs | None:
        """Returns the joined outputs; None if the run fails or they cannot be split."""
        joined = {
            name: np.concatenate([request.arrays[name] for request in self.requests])
            for name in self._signature.inputs
        }
        try:
            outputs = self._signature.run(joined)
        except errors.PersiaError:
            return None
        is_whole = all(
            array.shape[:1] == (self.examples,) for array in outputs.values()
        )
        return outputs if is_whole else None

    def _run_alone(self, request: _Request) -> None:
        try:
            request.succeed(self._signature.run(request.arrays))
        except errors.PersiaError as error:
            request.fail(error)


def _key(signature: Signature, arrays: Arrays) -> Any:
    """Returns a key; requests with equal keys can be joined."""
    # A signature object belongs to one version.
    return signature, tuple(arrays[name].shape[1:] for name in signature.inputs)


def late() -> errors.DeadlineExceededError:
    """Returns the error of a request that waited for too long."""
    return errors.DeadlineExceededError(
        "the request waited until its time was over: the server has more to do than "
        "it can"
    )
