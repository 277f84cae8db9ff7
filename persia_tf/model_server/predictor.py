"""Answers predictions, for all protocols."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional

from persia_tf import errors
from persia_tf.model_server import status
from persia_tf.model_server.metrics import Metrics
from persia_tf.model_server.running import Gate, Outputs, Runner
from persia_tf.model_server.served_model import ServedModel
from persia_tf.model_server.shown import shown
from persia_tf.model_server.signature import Arrays, Signature


@dataclasses.dataclass(frozen=True)
class Query:
    """A request for a prediction.

    Attributes:
        model: The model's name.
        version: The version's number; None: the newest.
        signature: The signature's name; `""`: the default serving signature.
        read: Returns the inputs, checked against the signature that it is given.
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
        outputs: Arrays by name.
    """

    version: int
    signature: str
    outputs: Outputs


class Predictor:
    """Answers queries for one model. Thread-safe.

    Args:
        model: The model.
        gate: Limits the queries that run or wait.
        runner: Runs them.
        metrics: Counts them.
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
        """Counts a request, its duration and its status code.

        Args:
            api: The protocol's name in the metrics.
        """
        began = time.monotonic()
        code = status.INTERNAL
        try:
            yield
            code = status.OK
        except errors.PersiaError as error:
            code = error.code
            raise
        finally:
            self._metrics.requests.labels(api, status.name(code)).inc()
            self._metrics.seconds.labels(api).observe(time.monotonic() - began)

    def place(self) -> contextlib.AbstractContextManager[None]:
        """Holds a place for a request that has arrived completely.

        Raises:
            PersiaError: If there is no free place: with the code RESOURCE_EXHAUSTED.
        """
        return self._gate.admitted()

    def check_place(self) -> None:
        """Raises, as `place` does, if there is no free place now."""
        self._gate.check()

    def predict(self, query: Query) -> Answer:
        """Answers a query. The caller holds a place.

        Raises:
            PersiaError: If the query is invalid or fails: with its status code.
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
