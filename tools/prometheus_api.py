"""Asks a Prometheus server, also for what a panel of the dashboard shows."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, NamedTuple


class Series(NamedTuple):
    """A series of a query's result.

    Attributes:
        labels: The series' labels.
        points: Pairs of Unix time in seconds, and value.
    """

    labels: dict[str, str]
    points: list[tuple[float, float]]


class Prometheus:
    """A Prometheus server.

    Args:
        url: Its address, such as "http://127.0.0.1:9090".
        rate_interval: What the dashboard's `$__rate_interval` stands for, such as
            "1m": at least four times the interval at which targets are scraped.
    """

    def __init__(self, url: str, rate_interval: str = "1m") -> None:
        self._url = url.rstrip("/")
        self._rate_interval = rate_interval

    def get(self, path: str, **arguments: Any) -> Any:
        """Calls the API below /api/v1, and returns the answer's data.

        Raises:
            ValueError: If Prometheus answers with an error, such as of a query.
            OSError: If there is no answer.
        """
        query = urllib.parse.urlencode(arguments)
        try:
            with urllib.request.urlopen(
                f"{self._url}/api/v1/{path}?{query}", timeout=60
            ) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            text = error.read().decode("utf-8", "replace")
            raise ValueError(f"{path} {arguments}: {text}") from error

    def query(self, expression: str) -> list[Series]:
        """Returns the newest values of an expression, one point per series."""
        data = self.get("query", query=self.filled(expression))
        if data["resultType"] == "scalar":
            return [Series({}, [_point(data["result"])])]
        return [Series(s["metric"], [_point(s["value"])]) for s in data["result"]]

    def query_range(
        self, expression: str, start: float, end: float, step: float
    ) -> list[Series]:
        """Returns the values of an expression every `step` seconds."""
        data = self.get(
            *("query_range",),
            query=self.filled(expression),
            start=start,
            end=end,
            step=step,
        )
        return [
            Series(s["metric"], [*map(_point, s["values"])]) for s in data["result"]
        ]

    def filled(self, expression: str) -> str:
        """Returns an expression of the dashboard with values for its variables."""
        values = {
            "$__rate_interval": self._rate_interval,
            "$cluster": ".*",
            "$instance": ".*",
        }
        for variable, value in values.items():
            expression = expression.replace(variable, value)
        return expression


def _point(of_json: list[Any]) -> tuple[float, float]:
    return float(of_json[0]), float(of_json[1])
