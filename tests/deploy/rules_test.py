"""The rules and the dashboard agree with the metrics, the page and each other."""

import json
import re
import shutil
import subprocess

import grafana_dashboard
import metrics_page
import pytest
import yaml
from live_cluster import RULES, alerts, left_hand_side

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="there is no promtool"
)

# Names of series in expressions; those of recording rules have colons.
SERIES = re.compile(r"(?<![\w:\"$])(?:up|process_\w+|persia_\w+)(?![\w:])")
RECORDED = re.compile(r"\w+:\w+:\w+")


def records():
    """The expressions of records.yml, by name."""
    groups = yaml.safe_load((RULES / "records.yml").read_text())["groups"]
    return {rule["record"]: rule["expr"] for g in groups for rule in g["rules"]}


def panels():
    return [
        panel
        for panel in json.loads(grafana_dashboard.FILE.read_text())["panels"]
        if panel["type"] != "row"
    ]


def expressions():
    """All expressions of the rules and the dashboard."""
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [*records().values(), *(rule["expr"] for rule in alerts()), *shown]


def exported():
    """The names of all series that processes export."""
    groups = metrics_page.groups().values()
    return {"up"}.union(*(metric.samples() for group in groups for metric in group))


def promtool(*arguments):
    return subprocess.run(
        ["promtool", *arguments], cwd=RULES, capture_output=True, text=True, timeout=120
    )


@needs_promtool
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "records.yml", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
    ],
    ids=" ".join,
)
def test_promtool_accepts(arguments):
    done = promtool(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize("comparison", ["> 1e99", "> -1e99"], ids=["never", "always"])
def test_every_unit_test_notices_an_alert_that_never_or_always_fires(
    tmp_path, comparison
):
    for path in RULES.glob("*.yml"):
        shutil.copy(path, tmp_path)
    changed = re.sub(
        r"(expr: .*) (?:==|<|>) [\d.]+\n",
        rf"\1 {comparison}\n",
        (RULES / "alerts.yml").read_text(),
    )
    (tmp_path / "alerts.yml").write_text(changed)
    done = promtool("test", "rules", str(tmp_path / "alerts_test.yml"))
    assert done.returncode != 0
    noticed = set(re.findall(r'alertname="(\w+)"', done.stdout + done.stderr))
    assert noticed == {rule["alert"] for rule in alerts()}


def test_every_alert_has_a_unit_test_in_which_it_fires_and_one_in_which_it_does_not():
    tests = yaml.safe_load((RULES / "alerts_test.yml").read_text())["tests"]
    fires, does_not = set(), set()
    for test in tests:
        for check in test["promql_expr_test"]:
            names = {
                re.search(r'alertname="(\w+)"', sample["labels"])[1]
                for sample in check["exp_samples"]
            }
            fires |= names
            does_not |= {test["name"]} - names
    assert fires == does_not == {rule["alert"] for rule in alerts()}


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule):
    assert left_hand_side(rule["expr"])
    assert rule["labels"]["severity"] in ("warning", "critical")
    said = rule["annotations"]
    assert said["summary"] and said["description"].endswith(".")
    page, _, anchor = said["runbook_url"].partition("#")
    assert page == "docs/metrics.md" and anchor == rule["alert"].lower()
    severity = rule["labels"]["severity"]
    assert f"\n### {rule['alert']}\n\n*{severity}*: " in metrics_page.PAGE.read_text()


def test_every_series_in_rules_and_the_dashboard_is_exported():
    used = set().union(*(SERIES.findall(each) for each in expressions()))
    assert len(used) > 40
    assert used - exported() == set()


def test_every_recorded_series_exists_and_is_used():
    used = set().union(*(RECORDED.findall(each) for each in expressions()))
    assert used == set(records())


def test_the_dashboard_is_up_to_date():
    # If this fails: python tools/grafana_dashboard.py
    assert grafana_dashboard.FILE.read_text() == grafana_dashboard.text()


def test_panels_do_not_overlap():
    taken = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {
            (at["x"] + column, at["y"] + row)
            for column in range(at["w"])
            for row in range(at["h"])
        }
        assert not taken & cells and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells


def test_the_page_lists_every_metric():
    # If this fails: python tools/metrics_page.py
    assert metrics_page.PAGE.read_text() == metrics_page.page()
    for group in metrics_page.groups().values():
        for metric in group:
            assert (
                f"| `{metric.name}` | {metric.kind} |" in metrics_page.PAGE.read_text()
            )


def test_a_series_that_is_not_exported_is_found():
    assert SERIES.findall('rate(persia_nothing_total{job=~"persia-ps"}[5m])') == [
        "persia_nothing_total"
    ]
    assert "persia_nothing_total" not in exported()
