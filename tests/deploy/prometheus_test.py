"""A real Prometheus scrapes real processes, with the rules of deploy/prometheus."""

import json
import math
import shutil
import sys
import urllib.request
from pathlib import Path

import dashboard_panels
import grafana_dashboard
import pytest
from harness import wait_until
from live_cluster import Processes, alerts, start_prometheus

from persia_tf.processes.free_ports import free_ports

pytestmark = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="there is no Prometheus"
)

TRAINER = Path(__file__).with_name("trainer.py")


@pytest.fixture
def processes(tmp_path):
    started = Processes(tmp_path)
    yield started
    started.end()


def start_shards(processes, count, *options):
    """Starts shards with a log and checkpoints; returns their ports."""
    checkpoints = processes.folder("checkpoints")
    for index in range(count):
        processes.start_persia(
            f"ps-{index}",
            *("ps", "--port=0", "--metrics-port=0", "--memory-limit=1GiB"),
            *("--recovery-folder=recovery", f"--checkpoint-root={checkpoints}"),
            *options,
        )
    return [processes.ports(f"ps-{index}") for index in range(count)]


def queries():
    """All queries of the dashboard, by panel and place in the panel."""
    shown = json.loads(grafana_dashboard.FILE.read_text())
    return {
        (panel["id"], panel["title"], target["refId"]): target["expr"]
        for panel in shown["panels"]
        for target in panel.get("targets", ())
    }


def has_data(prometheus, query):
    """Whether a query has a series, and a value that is a number."""
    return any(not math.isnan(s.points[0][1]) for s in prometheus.query(query))


def rules_of(prometheus, file):
    groups = prometheus.get("rules")["groups"]
    return [r for g in groups if g["file"].endswith(file) for r in g["rules"]]


def wait_for_all(found, names, what):
    """Waits until `found` holds for all names; the failure lists the others."""
    missing = list(names)

    def holds():
        missing[:] = [name for name in missing if not found(name)]
        return not missing

    try:
        wait_until(holds, what)
    except AssertionError as error:
        raise AssertionError(f"{error}: {missing}") from error


@pytest.mark.parametrize("with_tls", [False, True], ids=["http", "https"])
def test_a_shard_is_scraped_and_every_query_and_rule_is_understood(
    processes, certificates, with_tls
):
    options = certificates.options("ps-0") if with_tls else []
    [(_, _, metrics_port)] = start_shards(processes, 1, *options)
    prometheus = start_prometheus(
        processes,
        {"persia-ps": [metrics_port]},
        ca=certificates.tls("ps-0").ca if with_tls else None,
    )
    [shards, *_] = dashboard_panels.panels()
    wait_until(
        lambda: (
            [s.points[0][1] for s in prometheus.query(*shards.queries.values())]
            == [1.0]
        ),
        "one shard that is ready",
    )
    for query in queries().values():
        prometheus.query(query)  # An error raises.
    for file in ("records.yml", "alerts.yml"):
        wait_until(
            lambda file=file: all(
                rule["health"] == "ok" for rule in rules_of(prometheus, file)
            ),
            f"all rules of {file} to be evaluated",
        )
    assert len(rules_of(prometheus, "alerts.yml")) == len(alerts())


@pytest.fixture
def cluster(processes):
    """Two shards, a replica, an embedding worker, a trainer and a model server."""
    shards = start_shards(processes, 2)
    addresses = [f"127.0.0.1:{ports[0]}" for ports in shards]
    processes.start_persia(
        *("replica", "ps", f"--replica-of={addresses[0]}"),
        *("--port=0", "--metrics-port=0"),
    )
    processes.start_persia(
        *("worker", "worker", f"--ps={','.join(addresses)}", "--cache-rows=100"),
        *("--port=0", "--metrics-port=0"),
    )
    replica, worker = processes.ports("replica"), processes.ports("worker")
    [trainer_port] = free_ports(1)
    processes.start(
        *("trainer", [sys.executable, TRAINER]),
        env={
            "PERSIA_PS": f"127.0.0.1:{worker[0]}",
            "PERSIA_METRICS_PORT": str(trainer_port),
        },
    )
    exported = processes.folder("trainer") / "exported"
    processes.wait_until(exported.exists, "trainer")
    processes.start_persia(
        *("serve", "serve", f"--model={exported}", "--name=model"),
        *("--grpc-port=0", "--rest-port=0", f"--follow={','.join(addresses)}"),
    )
    return {
        "persia-ps": [ports[2] for ports in shards],
        "persia-replica": [replica[2]],
        "persia-worker": [worker[2]],
        "persia-trainer": [trainer_port],
        "persia-serve": [processes.ports("serve")[1]],
    }


def predict(rest_port):
    request = urllib.request.Request(
        f"http://127.0.0.1:{rest_port}/v1/models/model:predict",
        json.dumps({"instances": [[1, 2, 3, 4]]}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert "predictions" in json.load(answer)


@pytest.mark.slow  # The test above shows that queries and rules are understood.
def test_every_query_and_every_alert_has_data_of_a_cluster_that_trains(
    processes, cluster
):
    prometheus = start_prometheus(processes, cluster)
    wait_until(
        lambda: len(prometheus.query("up == 1")) == sum(map(len, cluster.values())),
        "all targets to be scraped",
    )
    [rest_port] = cluster["persia-serve"]

    def shows(name):
        predict(rest_port)
        return has_data(prometheus, queries()[name])

    wait_for_all(shows, queries(), "data in all panels")

    def fires(name):
        predict(rest_port)
        return any(
            rule["name"] == name and rule["alerts"]
            for rule in rules_of(prometheus, "without_thresholds.yml")
        )

    names = [alert["alert"] for alert in alerts()]
    wait_for_all(fires, names, "every alert's left-hand side")
    for rule in rules_of(prometheus, "without_thresholds.yml"):
        for alert in rule["alerts"]:
            said = alert["annotations"].values()
            assert not [text for text in said if "error expanding" in text], rule
    # A cluster that trains well alerts nobody.
    firing = [r["name"] for r in rules_of(prometheus, "alerts.yml") if is_firing(r)]
    assert firing == []


def is_firing(rule):
    return rule["state"] == "firing"
