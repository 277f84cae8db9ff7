"""Writes deploy/grafana/persia.json: the dashboard of a cluster, for Grafana.

    python tools/grafana_dashboard.py

The file is Grafana's JSON model, which repeats the same settings for each panel. What
differs between panels is in dashboard_panels.py. A test fails if the file is not up to
date.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from dashboard_panels import CLUSTER, ROWS, Panel

# Not resolved: a sandbox accesses the sources through symbolic links.
FILE = Path(os.path.abspath(__file__)).parents[1] / "deploy" / "grafana" / "persia.json"

# A panel's place: the page has 24 columns.
_COLUMNS, _WIDTH, _HEIGHT = 24, 8, 7

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def text() -> str:
    """Returns the file's text."""
    return json.dumps(_dashboard(), indent=1) + "\n"


def _dashboard() -> dict[str, Any]:
    return {
        "title": "persia_tf",
        "uid": "persia-tf",
        "tags": ["persia_tf"],
        "description": "Shards, embedding workers, trainers and model servers.",
        "schemaVersion": 38,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,  # One cursor for all panels.
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [_alerts()]},
        "templating": {"list": _variables()},
        "panels": _placed(),
    }


def _alerts() -> dict[str, Any]:
    """Returns the annotation that marks alerts in all panels."""
    return {
        "name": "Alerts",
        "datasource": _SOURCE,
        "enable": True,
        "expr": f'ALERTS{{alertstate="firing",{CLUSTER}}}',
        "iconColor": "red",
        "titleFormat": "{{alertname}}",
        "textFormat": "{{instance}}{{table}}",
    }


def _variables() -> list[dict[str, Any]]:
    source = {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
    }
    jobs = 'up{job=~"persia-.*"}'
    chosen = 'up{job=~"persia-.*",cluster=~"$cluster"}'
    return [
        source,
        _variable("cluster", f"label_values({jobs}, cluster)"),
        _variable("instance", f"label_values({chosen}, instance)"),
    ]


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _SOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,  # Whenever the time range changes.
        "multi": True,
        "includeAll": True,
        # Matches series without the label, too.
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
        "sort": 1,
    }


def _placed() -> list[dict[str, Any]]:
    """Returns the panels with the headings of their rows, each with its place."""
    made: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS.items():
        place = {"x": 0, "y": y, "w": _COLUMNS, "h": 1}
        made.append(
            {
                "id": len(made) + 1,
                "type": "row",
                "title": title,
                "collapsed": False,
                "gridPos": place,
                "panels": [],
            }
        )
        y += 1
        x = height = 0
        for panel in row:
            size = (_COLUMNS // 4, 4) if panel.kind == "stat" else (_WIDTH, _HEIGHT)
            if x + size[0] > _COLUMNS:
                x, y = 0, y + height
            place = {"x": x, "y": y, "w": size[0], "h": size[1]}
            made.append(_panel(len(made) + 1, panel, place))
            x, height = x + size[0], size[1]
        y += height
    return made


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    is_stat = panel.kind == "stat"
    targets = [
        {
            "refId": chr(ord("A") + index),
            "datasource": _SOURCE,
            "expr": query,
            "legendFormat": legend or "__auto",
            **({"instant": True} if is_stat else {"range": True}),
        }
        for index, (legend, query) in enumerate(panel.queries.items())
    ]
    made = {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": targets,
    }
    if is_stat:
        made["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}}
    else:
        made["fieldConfig"]["defaults"]["min"] = 0
        made["options"] = {
            "legend": {
                "displayMode": "list",
                "placement": "bottom",
                "showLegend": True,
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    return made


if __name__ == "__main__":
    FILE.write_text(text())
