"""Predictions, whatever the protocol that asks for them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Optional

from persia_tf import errors
from persia_tf.model_server import status
from persia_tf.model_server.metrics import Metrics
from persia_tf.model_server.running import Gate, Outputs, Runner
from persia_tf.model_server.served_model import ServedModel
from persia_tf.model_server.signature import Arrays, Signature


@dataclasses.dataclass(frozen=True)
class Query:
    """What is asked for.

    Attributes:
        api: The protocol, for the metrics.
        model: The model's name.
        version: Of the model; None: the newest.
        signature: Its name; `""`: that of serving.
        read: Gives the inputs, checked, for the signature that takes them.
        output_filter: Outputs that are wanted; empty: all.
        seconds: How long it may wait.
    """

    api: str
    model: str
    version: Optional[int]  # noqa: UP045
    signature: str
    read: Callable[[Signature], Arrays]
    output_filter: Sequence[str]
    seconds: float


class Answer(NamedTuple):
    """What a model gave.

    Attributes:
        version: Of the model that answered.
        signature: The signature's name.
        outputs: Arrays by name.
    """

    version: int
    signature: str
    outputs: Outputs


class Predictor:
    """Answers queries. Thread-safe.

    Args:
        model: The model.
        gate: Lets queries in.
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

    def predict(self, query: Query) -> Answer:
        """Answers a query.

        Raises:
            PersiaError: With the code of what is wrong with it, or went wrong.
        """
        began = time.monotonic()
        code = status.INTERNAL
        try:
            with self._gate.admitted():
                answer = self._answer(query, began + query.seconds)
            code = status.OK
            return answer
        except errors.PersiaError as error:
            code = error.code
            raise
        finally:
            self._metrics.requests.labels(query.api, status.name(code)).inc()
            self._metrics.seconds.labels(query.api).observe(time.monotonic() - began)

    def check_name(self, name: str) -> None:
        """Raises NotFoundError unless a model of that name is served."""
        if name != self.model.name:
            raise errors.NotFoundError(
                f"there is no model {name!r}; this server has {self.model.name!r}"
            )

    def _answer(self, query: Query, deadline: float) -> Answer:
        self.check_name(query.model)
        with self.model.lease(query.version) as loaded:
            signature = loaded.signature(query.signature)
            signature.check_filter(query.output_filter)
            arrays = query.read(signature)
            outputs = self._runner.run(signature, arrays, deadline)
        if query.output_filter:
            outputs = {name: outputs[name] for name in query.output_filter}
        return Answer(loaded.version, signature.name, outputs)
