"""Runs a model's signatures: limits concurrent runs, and can batch requests."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np

from persia_tf import errors
from persia_tf.model_server import codes
from persia_tf.model_server.metrics import Metrics
from persia_tf.model_server.served_signature import Arrays, Signature

Outputs = dict[str, np.ndarray]


class Gate:
    """Limits the requests that run or wait; refuses further requests immediately.

    Args:
        most: The largest number of requests that run or wait.
        metrics: Counts the requests that run or wait.
    """

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most = most
        self._places = threading.Semaphore(most)
        self._metrics = metrics

    @contextlib.contextmanager
    def admitted(self) -> Iterator[None]:
        """Until the `with` block ends, counts a request as one that runs or waits.

        Raises:
            PersiaError: With the code RESOURCE_EXHAUSTED, if the limit is reached.
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
        """Raises the error of `admitted` if the limit on requests is reached now."""
        if not self._places.acquire(blocking=False):
            raise self._full()
        self._places.release()

    def _full(self) -> errors.PersiaError:
        return errors.PersiaError(
            f"{self._most} requests run or wait, which is the limit: try again, or "
            "raise --max-requests",
            codes.RESOURCE_EXHAUSTED,
        )


class Runner:
    """Runs a limited number of requests at a time; others wait for a slot. Thread-safe.

    If `max_batch_size` is not 0 and the signature allows it, requests are joined into
    batches along their first axis: requests that arrive while all slots are in use have
    to wait anyway, and then run as one batch. A request that finds a free slot is not
    delayed, unless `batch_timeout` is set.

    Args:
        threads: The number of slots: how many runs there may be at a time, each on the
            thread of a caller.
        metrics: Records the number of requests in each batch.
        max_batch_size: The largest number of examples in a batch. 0: no batching.
        batch_timeout: How long, in seconds, a request waits for other requests to join
            its batch, even if a slot is free.
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
        """Runs a signature on arrays that its `check` accepted; returns the outputs.

        Args:
            signature: The signature.
            arrays: The signature's inputs, by name.
            deadline: A time on `time.monotonic()`'s clock: when to stop waiting for a
                slot, or for a batch that another caller runs. A run on this caller's
                thread is never interrupted.

        Raises:
            PersiaError: If the model fails, or the deadline passes without a result.
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
        """Adds a request to a batch; returns the batch, and whether it is new."""
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
        """Runs a batch on the thread of its first request.

        If the batch cannot be run, all of its requests fail.
        """
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
            batch.fail(codes.as_persia_error(error))
            if not isinstance(error, errors.PersiaError):
                raise

    def _close(self, key: Any, batch: _Batch) -> None:
        """Closes a batch: no request can join it any more."""
        if self._open.get(key) is batch:
            del self._open[key]
        batch.closed.set()

    @contextlib.contextmanager
    def _slot(self, deadline: Any) -> Iterator[None]:
        """Waits for one of the slots, and occupies it until the `with` block ends.

        `deadline` is a function, since a batch's deadline moves when requests join it.
        """
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
        # The code and the message of the error. The error itself is not stored: the
        # frames of its traceback refer to this request, and such a reference cycle
        # stays in memory until the next garbage collection.
        self._failure: Optional[tuple[int, str]] = None  # noqa: UP045

    def succeed(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._done.set()

    def fail(self, error: errors.PersiaError) -> None:
        if not self._done.is_set():
            self._failure = error.code, str(error)
            self._done.set()

    def result(self) -> Outputs:
        """Returns the request's outputs; waits for them until its deadline."""
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
        examples: The total number of examples in these requests.
        deadline: The latest deadline of these requests.
        closed: An event, which is set once no further request can join.
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
        """Runs all requests as one; if that fails, runs each request by itself."""
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
        """Runs all requests as one, and returns the joined outputs.

        Returns None if the run fails, or if the outputs cannot be split by request.
        """
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
    """Returns the key of a request: requests with equal keys can share a batch."""
    # A signature object belongs to one version of the model, so requests for different
    # versions are never joined.
    return signature, tuple(arrays[name].shape[1:] for name in signature.inputs)


def late() -> errors.DeadlineExceededError:
    """Returns the error of a request that waited for too long."""
    return errors.DeadlineExceededError(
        "the request waited too long for its turn: the server is overloaded"
    )
