"""Predictions, whatever the protocol that asks for them."""

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
    """What is asked for.

    Attributes:
        model: The model's name.
        version: Of the model; None: the newest.
        signature: Its name; `""`: that of serving.
        read: Gives the inputs, checked, for the signature that takes them.
        output_filter: Outputs that are wanted; empty: all.
        deadline: When to give up waiting, on `time.monotonic()`'s clock.
    """

    model: str
    version: Optional[int]  # noqa: UP045
    signature: str
    read: Callable[[Signature], Arrays]
    output_filter: Sequence[str]
    deadline: float


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

    @contextlib.contextmanager
    def counted(self, api: str) -> Iterator[None]:
        """Counts a request from when it came, and how it ends.

        Args:
            api: The protocol, for the metrics.
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
        """Holds the place of a request that is there as a whole.

        Raises:
            PersiaError: If there is no place: with the code of RESOURCE_EXHAUSTED.
        """
        return self._gate.admitted()

    def check_place(self) -> None:
        """Raises, as `place` does, if there is none now."""
        self._gate.check()

    def predict(self, query: Query) -> Answer:
        """Answers a query of a request that has its place.

        Raises:
            PersiaError: With the code of what is wrong with it, or went wrong.
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
