"""What the model server counts, as Prometheus reads it."""

from __future__ import annotations

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST

# Of a request, in seconds.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
# Of a batch, in requests.
_REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """All that a model server counts.

    Attributes:
        registry: Of Prometheus: what else is registered there is told as well.
        requests: Predictions that were asked for, by API and status code.
        seconds: How long they took, by API.
        under_way: Predictions that run, or wait to.
        arriving: Those by REST whose bodies are not whole yet.
        batches: Requests of each run of a model, where requests are joined.
        connections_closed: Connections of REST that the server closed of its own
            accord, by reason: see `http_server.HttpServer`.
        loads: Versions that loaded, or failed to, by result.
        serving: 1 for each version that serves.
    """

    def __init__(self) -> None:
        # Of its own: a program may have several servers.
        self.registry = CollectorRegistry()
        self.requests = Counter(
            *("persia_serve_requests", "Predictions asked for.", ["api", "code"]),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "persia_serve_request_seconds",
            "Time from a prediction's request to its answer.",
            ["api"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.under_way = Gauge(
            *("persia_serve_requests_under_way", "Predictions that run, or wait to."),
            registry=self.registry,
        )
        self.arriving = Gauge(
            "persia_serve_requests_arriving",
            "REST predictions whose bodies are not whole yet.",
            registry=self.registry,
        )
        self.connections_closed = Counter(
            "persia_serve_connections_closed",
            "REST connections that the server closed of its own accord.",
            ["reason"],
            registry=self.registry,
        )
        self.batches = Histogram(
            "persia_serve_batch_requests",
            "Requests that were joined for one run.",
            buckets=_REQUESTS,
            registry=self.registry,
        )
        self.loads = Counter(
            *("persia_serve_loads", "Versions loaded, or tried to.", ["result"]),
            registry=self.registry,
        )
        self.serving = Gauge(
            *("persia_serve_version_serving", "1 for versions that serve."),
            ["version"],
            registry=self.registry,
        )

    def value(self, sample: str, **labels: str) -> float:
        """Returns a number by its name in the text, 0 if there is none of it."""
        return self.registry.get_sample_value(sample, labels) or 0.0

    def text(self) -> bytes:
        """Returns them in Prometheus's text format."""
        return prometheus_client.generate_latest(self.registry)
