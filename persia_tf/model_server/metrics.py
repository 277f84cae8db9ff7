"""The model server's Prometheus metrics."""

from __future__ import annotations

import prometheus_client
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
)

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST

# Buckets of a request's duration, in seconds.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
# Buckets of a batch's size, in requests.
_REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """All metrics of a model server.

    Attributes:
        registry: The Prometheus registry. It also has metrics of the process itself,
            such as its resident memory. Collectors registered there are reported,
            too.
        requests: Prediction requests, by API and status code.
        seconds: The duration of prediction requests, by API.
        under_way: The number of predictions that run or wait.
        arriving: The number of REST predictions whose bodies are not complete yet.
        batches: The number of requests per batch, if batching is enabled.
        connections_closed: REST connections that the server itself closed, by reason:
            see `http_server.HttpServer`.
        loads: Attempts to load a version, by result: "loaded" or "failed".
        serving: The value 1 for each version that serves.
    """

    def __init__(self) -> None:
        # Prometheus's default registry is not used, since a program may have several
        # servers, each with metrics of its own.
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            *("persia_serve_requests", "Prediction requests.", ["api", "code"]),
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
            *("persia_serve_requests_under_way", "Predictions that run or wait."),
            registry=self.registry,
        )
        self.arriving = Gauge(
            "persia_serve_requests_arriving",
            "REST predictions whose bodies are not complete yet.",
            registry=self.registry,
        )
        self.connections_closed = Counter(
            "persia_serve_connections_closed",
            "REST connections that the server itself closed.",
            ["reason"],
            registry=self.registry,
        )
        self.batches = Histogram(
            "persia_serve_batch_requests",
            "Requests per batch.",
            buckets=_REQUESTS,
            registry=self.registry,
        )
        self.loads = Counter(
            *("persia_serve_loads", "Attempts to load a version.", ["result"]),
            registry=self.registry,
        )
        # Otherwise Prometheus would not see the first failure as an increase.
        for result in ("loaded", "failed"):
            self.loads.labels(result)
        self.serving = Gauge(
            *("persia_serve_version_serving", "1 for each version that serves."),
            ["version"],
            registry=self.registry,
        )

    def value(self, sample: str, **labels: str) -> float:
        """Returns the value of one sample in the metrics; 0 if the sample is absent."""
        return self.registry.get_sample_value(sample, labels) or 0.0

    def text(self) -> bytes:
        """Returns all metrics in Prometheus's text format."""
        return prometheus_client.generate_latest(self.registry)
