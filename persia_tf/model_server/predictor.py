"""Answers requests for predictions, for gRPC and REST alike."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional

from persia_tf import errors
from persia_tf.model_server import codes
from persia_tf.model_server.batching import Gate, Outputs, Runner
from persia_tf.model_server.metrics import Metrics
from persia_tf.model_server.served_model import ServedModel
from persia_tf.model_server.served_signature import Arrays, Signature
from persia_tf.model_server.shown import shown


@dataclasses.dataclass(frozen=True)
class Query:
    """A request for a prediction.

    Attributes:
        model: The model's name.
        version: The version's number; None: the newest.
        signature: The signature's name; `""`: the default serving signature.
        read: A function that returns the inputs for a signature, after it has checked
            that they match the signature.
        output_filter: The names of the outputs to return; empty: all.
        deadline: When to give up waiting, on `time.monotonic()`'s clock.
    """

    model: str
    version: Optional[int]  # noqa: UP045
    signature: str
    read: Callable[[Signature], Arrays]
    output_filter: Sequence[str]
    deadline: float


class Answer(NamedTuple):
    """A model's answer.

    Attributes:
        version: The version that answered.
        signature: The signature's name.
        outputs: The outputs: arrays by name.
    """

    version: int
    signature: str
    outputs: Outputs


class Predictor:
    """Answers queries for one model. Thread-safe.

    Args:
        model: The model.
        gate: Limits the queries that run or wait.
        runner: Runs the queries.
        metrics: Counts the queries.
    """

    def __init__(
        self, model: ServedModel, gate: Gate, runner: Runner, metrics: Metrics
    ) -> None:
        self.model = model
        self._gate = gate
        self._runner = runner
        self._metrics = metrics

    @contextlib.contextmanager
    def counted(self, api: str) -> Iterator[None]:
        """Records the duration and the status code of a request in the metrics.

        Args:
            api: The protocol's name in the metrics.
        """
        began = time.monotonic()
        code = codes.INTERNAL
        try:
            yield
            code = codes.OK
        except errors.PersiaError as error:
            code = error.code
            raise
        finally:
            self._metrics.requests.labels(api, codes.name(code)).inc()
            self._metrics.seconds.labels(api).observe(time.monotonic() - began)

    def place(self) -> contextlib.AbstractContextManager[None]:
        """Until the `with` block ends, counts a request as one that runs or waits.

        Call this only once the request has arrived completely.

        Raises:
            PersiaError: With the code RESOURCE_EXHAUSTED, if the limit on requests that
                run or wait is reached.
        """
        return self._gate.admitted()

    def check_place(self) -> None:
        """Raises the error of `place` if the limit on requests is reached now."""
        self._gate.check()

    def predict(self, query: Query) -> Answer:
        """Answers a query. Call this within the `with` block of `place`.

        Raises:
            PersiaError: If the query is invalid or fails. The error's code is the
                status code of the answer.
        """
        self.check_name(query.model)
        with self.model.lease(query.version) as loaded:
            signature = loaded.signature(query.signature)
            signature.check_filter(query.output_filter)
            arrays = query.read(signature)
            outputs = self._runner.run(signature, arrays, query.deadline)
        if query.output_filter:
            outputs = {name: outputs[name] for name in query.output_filter}
        return Answer(loaded.version, signature.name, outputs)

    def check_name(self, name: str) -> None:
        """Raises NotFoundError unless a model of that name is served."""
        if name != self.model.name:
            raise errors.NotFoundError(
                f"there is no model {shown(name)}; this server has {self.model.name!r}"
            )
