"""Counters of the model server, as Prometheus reads them."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterator

# Of a request, in seconds.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
# Of a batch, in requests.
_REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128)

_Labels = tuple[str, ...]


class _Metric:
    """Numbers of one name, one for each combination of labels. Thread-safe."""

    kind = ""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self._text = text
        self._labels = labels
        self._lock = threading.Lock()
        self._values: dict[_Labels, float] = {}

    def value(self, *labels: str) -> float:
        """Returns the number of these labels."""
        with self._lock:
            return self._values.get(labels, 0)

    def lines(self) -> Iterator[str]:
        """The metric in Prometheus's text format."""
        yield f"# HELP {self.name} {self._text}"
        yield f"# TYPE {self.name} {self.kind}"
        yield from self._samples()

    def _samples(self) -> Iterator[str]:
        with self._lock:
            values = sorted(self._values.items())
        for labels, value in values:
            yield _sample(self.name, zip(self._labels, labels), value)

    def _add(self, labels: _Labels, by: float) -> None:
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + by


class Counter(_Metric):
    """A number that only grows."""

    kind = "counter"

    def add(self, *labels: str) -> None:
        """Counts one more."""
        self._add(labels, 1)


class Gauge(_Metric):
    """A number that comes and goes."""

    kind = "gauge"

    def change(self, by: float, *labels: str) -> None:
        """Adds to the number."""
        self._add(labels, by)

    def set(self, value: float, *labels: str) -> None:
        """Sets the number."""
        with self._lock:
            self._values[labels] = value

    def remove(self, *labels: str) -> None:
        """Forgets the number of these labels."""
        with self._lock:
            self._values.pop(labels, None)


class Histogram(_Metric):
    """How many values were at most so large, their number and their sum."""

    kind = "histogram"

    def __init__(
        self, name: str, text: str, *labels: str, bounds: tuple[float, ...]
    ) -> None:
        super().__init__(name, text, *labels)
        self._bounds = bounds
        self._counts: dict[_Labels, list[int]] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Takes one more value."""
        place = bisect.bisect_left(self._bounds, value)
        with self._lock:
            counts = self._counts.setdefault(labels, [0] * (len(self._bounds) + 1))
            counts[place] += 1
            self._values[labels] = self._values.get(labels, 0) + value

    def count(self, *labels: str) -> int:
        """Returns how many values there were."""
        with self._lock:
            return sum(self._counts.get(labels, ()))

    def _samples(self) -> Iterator[str]:
        with self._lock:
            taken = [
                (labels, list(counts), self._values[labels])
                for labels, counts in sorted(self._counts.items())
            ]
        for labels, counts, total in taken:
            pairs = list(zip(self._labels, labels))
            count = 0
            for bound, more in zip((*self._bounds, "+Inf"), counts):
                count += more
                le = ("le", str(bound))
                yield _sample(f"{self.name}_bucket", [*pairs, le], count)
            yield _sample(f"{self.name}_sum", pairs, total)
            yield _sample(f"{self.name}_count", pairs, count)


class Metrics:
    """All that the model server counts.

    Attributes:
        requests: Predictions that were asked for, by API and status code.
        seconds: How long they took, by API.
        under_way: Predictions that run, or wait to.
        batches: Requests of each run of a model, where requests are joined.
        loads: Versions that loaded, or failed to, by result.
        serving: 1 for each version that serves.
    """

    def __init__(self) -> None:
        self.requests = Counter(
            "persia_serve_requests_total", "Predictions asked for.", "api", "code"
        )
        self.seconds = Histogram(
            "persia_serve_request_seconds",
            "Time from a prediction's request to its answer.",
            "api",
            bounds=_SECONDS,
        )
        self.under_way = Gauge(
            "persia_serve_requests_under_way", "Predictions that run, or wait to."
        )
        self.batches = Histogram(
            "persia_serve_batch_requests",
            "Requests that were joined for one run.",
            bounds=_REQUESTS,
        )
        self.loads = Counter(
            "persia_serve_loads_total", "Versions loaded, or tried to.", "result"
        )
        self.serving = Gauge(
            "persia_serve_version_serving", "1 for versions that serve.", "version"
        )
        self.under_way.set(0)

    def text(self) -> str:
        """Returns them in Prometheus's text format."""
        lines = [line for metric in vars(self).values() for line in metric.lines()]
        return "\n".join(lines) + "\n"


def _sample(name: str, labels, value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{pairs}}} {value:.17g}" if pairs else f"{name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
