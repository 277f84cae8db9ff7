"""Runs signatures: so many at once, several requests together if asked to."""

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
    """Lets in so many requests at once; the next is refused at once.

    Args:
        most: How many.
        metrics: Counts them.
    """

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most = most
        self._places = threading.Semaphore(most)
        self._metrics = metrics

    @contextlib.contextmanager
    def admitted(self) -> Iterator[None]:
        """Holds a place.

        Raises:
            PersiaError: If there is none: with the code of RESOURCE_EXHAUSTED.
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
        """Raises, as `admitted` does, if there is no place now."""
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
    """Runs requests, in turn where there are more than threads. Thread-safe.

    Requests are joined along their first axis, if that is asked for and the signature
    allows it: those that come while others run wait anyway, and go as one then. So a
    request that finds a free thread is not delayed, unless `batch_timeout` says so.

    Args:
        threads: How many run at once.
        metrics: Counts runs.
        max_batch_size: Examples of joined requests, at most. 0: none are joined.
        batch_timeout: Seconds that a request waits for others to join it, also where
            a thread is free.
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
        # Those that requests may still join.
        self._open: dict[Any, _Batch] = {}

    def run(self, signature: Signature, arrays: Arrays, deadline: float) -> Outputs:
        """Returns what a signature gives for arrays that were checked.

        Args:
            signature: The signature.
            arrays: Its inputs.
            deadline: When to give up waiting, on `time.monotonic()`'s clock. What
                runs is waited for.

        Raises:
            PersiaError: If the model fails, or no thread was free in time.
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
        """Puts a request into a batch; the first of one leads it."""
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
        """Runs a batch, or fails it. Its leader's thread does, for all of it."""
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
        """Lets nobody join a batch any more."""
        if self._open.get(key) is batch:
            del self._open[key]
        batch.closed.set()

    @contextlib.contextmanager
    def _slot(self, deadline: Any) -> Iterator[None]:
        """Holds one of the threads' places; the deadline may move meanwhile."""
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
        self._error: Optional[errors.PersiaError] = None  # noqa: UP045

    def succeed(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self._done.set()

    def fail(self, error: errors.PersiaError) -> None:
        if not self._done.is_set():
            self._error = error
            self._done.set()

    def result(self) -> Outputs:
        """Waits for it, until the request's deadline."""
        self._done.wait(max(0, self.deadline - time.monotonic()))
        if self._error is not None:
            raise self._error
        if self._outputs is None:
            raise late()
        return self._outputs


class _Batch:
    """Requests of one signature that run together.

    Attributes:
        requests: Those that joined so far.
        examples: Of all of them.
        deadline: The latest of theirs.
        closed: Set once nobody can join any more.
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
        """Answers all requests, each by itself if they cannot be together."""
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
        """Fails those that have no answer yet."""
        for request in self.requests:
            request.fail(error)

    def _run_joined(self) -> Outputs | None:
        """What all give together; None if one spoils it, or parts have no owner."""
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
    """Requests with equal keys can be joined."""
    # A signature is one version's alone.
    return signature, tuple(arrays[name].shape[1:] for name in signature.inputs)


def late() -> errors.DeadlineExceededError:
    """Returns the error of a request that waited for too long."""
    return errors.DeadlineExceededError(
        "the request waited until its time was over: the server has more to do than "
        "it can"
    )
