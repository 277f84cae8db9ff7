"""Serves a program's metrics to Prometheus while Keras trains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from persia_tf._keras import keras
from persia_tf.monitoring import trainer_endpoint
from persia_tf.telemetry import serve

if TYPE_CHECKING:
    from persia_tf.monitoring.trainer_endpoint import SharedEndpoint


class MetricsServer(keras.callbacks.Callback):
    """Serves `ptf.metrics()` to Prometheus from the beginning of `fit` to its end.

    `ptf.metrics.serve` is the same for programs that should serve longer, and
    `$PERSIA_METRICS_PORT` for programs that should not be changed. The URL is
    printed to stderr. If `fit` raises, the metrics continue to be served until the end
    of the next `fit` with this callback, or else until the program ends. Another
    callback with the same port shares the endpoint. Needs
    `pip install 'persia_tf[metrics]'`.

    Example:

    ```python
    model.fit(train, callbacks=[ptf.callbacks.MetricsServer(port=9400)])
    ```

    Args:
        port: As in `ptf.metrics.serve`.
        host: As in `ptf.metrics.serve`.

    Attributes:
        endpoint: The endpoint, with the attribute `url`; None outside of `fit`.

    Raises:
        TypeError: if an argument has another type.
        ValueError: if `port` is not from 0 to 65535.
        FailedPreconditionError: in `fit`, if prometheus_client is not installed.
        UnavailableError: in `fit`, if another program uses the port.
    """

    def __init__(self, port: int | None = None, host: str | None = None) -> None:
        super().__init__()
        trainer_endpoint.check(port, host, None)
        self._port = port
        self._host = host
        self.endpoint: SharedEndpoint | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        self._close()
        self.endpoint = serve(self._port, self._host)
        trainer_endpoint.tell(self.endpoint.url)

    def on_train_end(self, logs: Any = None) -> None:
        self._close()

    def _close(self) -> None:
        if self.endpoint is not None:
            self.endpoint.close()
            self.endpoint = None
