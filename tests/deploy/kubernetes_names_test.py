"""Names in deploy/kubernetes: what one object calls another exists, and is that one."""

from __future__ import annotations

import json
from pathlib import Path

import kubernetes_checks as checks
import kubernetes_manifests as manifests
import pytest
import yaml

from persia_tf.cluster import shards_of_environment

ROOT = Path(__file__).parents[2]

every_cluster = pytest.mark.parametrize("cluster", manifests.CLUSTERS)

SECRETS = {
    "persia-token",
    "persia-ps-tls",
    "persia-worker-tls",
    "persia-trainer-tls",
    "persia-s3",
}


def selected_by(labels, cluster):
    return [
        pod for pod in manifests.pods(cluster) if labels.items() <= pod.labels.items()
    ]


@every_cluster
def test_the_list_of_shards_is_that_of_the_pods(cluster):
    checks.check_list(manifests.rendered(cluster))


@pytest.mark.parametrize(
    ("cluster", "component"),
    [("plain", "shard"), ("with a volume", "embedding-worker")],
)
def test_trainers_find_the_shards_or_the_workers(cluster, component, monkeypatch):
    objects = manifests.rendered(cluster)
    [server] = manifests.pods(cluster, component)
    expected = [f"persia-worker:{server.ports['data']}"]
    if component == "shard":
        expected = server.environment(objects)["PERSIA_PS"].split(",")
    for pod in manifests.pods(cluster, "trainer"):
        environment = pod.environment(objects)
        config = environment.get("TF_CONFIG", "").replace("$(TASK_INDEX)", "1")
        monkeypatch.setenv("TF_CONFIG", config)
        monkeypatch.setenv("PERSIA_PS", environment["PERSIA_PS"])
        assert shards_of_environment() == expected


def test_tf_config_of_the_operator_of_tfjobs_leaves_the_shards(monkeypatch):
    peers = [f"multi-worker-worker-{index}.persia.svc:2222" for index in range(2)]
    config = {
        "cluster": {"worker": peers},
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    monkeypatch.setenv("PERSIA_PS", "persia-ps-0.persia-ps:7000")
    assert shards_of_environment() == ["persia-ps-0.persia-ps:7000"]


def test_tf_config_names_the_pods_of_the_job_set():
    objects = manifests.rendered("plain")
    item = manifests.of_kind(objects, "JobSet")["multi-worker"]
    check_peers(item, "multi-worker", item["spec"])


def test_tf_config_names_the_pods_of_the_train_job():
    objects = manifests.rendered("plain")
    [(name, job)] = manifests.of_kind(objects, "TrainJob").items()
    runtime = job["spec"]["runtimeRef"]["name"]
    item = manifests.of_kind(objects, "TrainingRuntime")[runtime]
    spec = item["spec"]
    assert job["spec"]["trainer"]["numNodes"] == spec["mlPolicy"]["numNodes"]
    check_peers(item, name, spec["template"]["spec"])
    [pod] = manifests.pods_of([item])
    assert job["spec"]["trainer"]["args"] == pod.container["args"]


def check_peers(item, job_set, spec):
    """Checks TF_CONFIG of the pods of a JobSet, named as JobSet names them."""
    [job] = spec["replicatedJobs"]
    [pod] = manifests.pods_of([item])
    count = job["template"]["spec"]["completions"]
    assert count == job["template"]["spec"]["parallelism"] == 2
    assert job["template"]["spec"]["completionMode"] == "Indexed"
    variables = {each["name"]: each for each in pod.container["env"]}
    for index in range(count):
        text = variables["TF_CONFIG"]["value"].replace("$(TASK_INDEX)", str(index))
        assert json.loads(text) == {
            "cluster": {
                "worker": [
                    f"{job_set}-{job['name']}-0-{peer}.{job_set}"
                    f":{pod.ports['tensorflow']}"
                    for peer in range(count)
                ]
            },
            "task": {"type": "worker", "index": index},
        }
    # Kubernetes replaces $(NAME) only by variables that are listed before.
    assert list(variables).index("TASK_INDEX") < list(variables).index("TF_CONFIG")


@every_cluster
def test_accounts_maps_and_secrets_exist(cluster):
    objects = manifests.rendered(cluster)
    for pod in manifests.pods(cluster):
        accounts = manifests.of_kind(objects, "ServiceAccount")
        assert pod.spec["serviceAccountName"] in accounts
        for source in pod.container.get("envFrom", ()):
            if "configMapRef" in source:
                name = source["configMapRef"]["name"]
                assert name in manifests.of_kind(objects, "ConfigMap")
            else:
                assert source["secretRef"]["name"] in SECRETS


@every_cluster
def test_what_is_mounted_exists(cluster):
    objects = manifests.rendered(cluster)
    exists = {
        "configMap": lambda it: it["name"] in manifests.of_kind(objects, "ConfigMap"),
        "secret": lambda it: it["secretName"] in SECRETS,
        "persistentVolumeClaim": lambda it: (
            it["claimName"] in manifests.of_kind(objects, "PersistentVolumeClaim")
        ),
        "emptyDir": lambda it: "sizeLimit" in it,
    }
    for pod in manifests.pods(cluster):
        claims = pod.owner["spec"].get("volumeClaimTemplates", ())
        names = {each["metadata"]["name"] for each in claims}
        for volume in pod.spec["volumes"]:
            [kind] = volume.keys() - {"name"}
            assert exists[kind](volume[kind])
            names.add(volume["name"])
        assert {each["name"] for each in pod.container["volumeMounts"]} == names


@every_cluster
def test_variables_name_files_of_mounted_secrets(cluster):
    objects = manifests.rendered(cluster)
    with_tls = cluster.startswith("with")
    for pod in manifests.pods(cluster, "shard", "embedding-worker", "trainer"):
        environment = pod.environment(objects)
        folders = {
            each["mountPath"]: each["name"] for each in pod.container["volumeMounts"]
        }
        volumes = {each["name"]: each for each in pod.spec["volumes"]}
        files = {"PERSIA_AUTH_TOKEN_FILE": "token"}
        if with_tls:
            files["PERSIA_TLS_CERTIFICATE"] = "tls.crt"
            files["PERSIA_TLS_KEY"] = "tls.key"
            files["PERSIA_TLS_CA"] = "ca.crt"
        for variable, name in files.items():
            folder, _, found = environment[variable].rpartition("/")
            assert found == name
            assert "secret" in volumes[folders[folder]]
        assert with_tls == ("PERSIA_TLS_KEY" in environment)


@every_cluster
def test_services_select_pods_with_their_ports(cluster):
    for service in manifests.of_kind(manifests.rendered(cluster), "Service").values():
        [pod] = selected_by(service["spec"]["selector"], cluster)
        for port in service["spec"]["ports"]:
            assert pod.ports[port["targetPort"]] == port["port"]


@every_cluster
def test_budgets_and_workloads_select_their_pods(cluster):
    objects = manifests.rendered(cluster)
    for budget in manifests.of_kind(objects, "PodDisruptionBudget").values():
        assert len(selected_by(budget["spec"]["selector"]["matchLabels"], cluster)) == 1
    for pod in manifests.pods(cluster):
        if "selector" in pod.owner["spec"]:
            labels = pod.owner["spec"]["selector"]["matchLabels"]
            assert selected_by(labels, cluster) == [pod]


@pytest.mark.parametrize("cluster", ["plain", "with a volume", "with a bucket"])
def test_the_monitor_finds_every_port_of_metrics(cluster):
    [monitor] = manifests.of_kind(manifests.rendered(cluster), "PodMonitor").values()
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    found = {
        pod.component
        for pod in selected_by(monitor["spec"]["selector"]["matchLabels"], cluster)
        if endpoint["port"] in pod.ports
    }
    servers = {"shard", "standby", "embedding-worker"}
    assert found == {*servers, "trainer"}
    # With TLS, servers answer by HTTPS, and trainers by HTTP.
    encrypted = set()
    for relabeling in endpoint["relabelings"]:
        if relabeling["targetLabel"] == "__scheme__":
            encrypted |= set(relabeling["regex"].split("|"))
    assert encrypted == (set() if cluster == "plain" else servers)


@pytest.mark.parametrize("folder", ["monitoring", "monitoring-tls"])
def test_the_monitor_that_the_guide_applies_fits_the_cluster(folder):
    [monitor] = manifests.of_folder(folder)
    # As it would be within the overlay of the cluster.
    cluster = "plain" if folder == "monitoring" else "with a bucket"
    assert [monitor] == list(
        manifests.of_kind(manifests.rendered(cluster), "PodMonitor").values()
    )
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    schemes = [
        relabeling["replacement"]
        for relabeling in endpoint["relabelings"]
        if relabeling["targetLabel"] == "__scheme__"
    ]
    if folder == "monitoring":
        assert schemes == []
        assert "tlsConfig" not in endpoint
        return
    assert schemes == ["https"]
    assert endpoint["tlsConfig"]["serverName"] == "persia-metrics"
    # The shards' own authority, from a Secret of the namespace.
    secret = endpoint["tlsConfig"]["ca"]["secret"]
    [shard] = manifests.pods(cluster, "shard")
    mounted = {
        volume["secret"]["secretName"]
        for volume in shard.spec["volumes"]
        if "secret" in volume
    }
    assert secret["name"] in mounted
    assert secret["key"] == "ca.crt"


def test_the_monitor_gives_pods_the_jobs_of_the_rules():
    [monitor] = manifests.of_kind(manifests.rendered("plain"), "PodMonitor").values()
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    jobs = {
        relabeling["regex"]: relabeling["replacement"]
        for relabeling in endpoint["relabelings"]
        if relabeling["targetLabel"] == "job"
    }
    prometheus = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
    known = {each["job_name"] for each in prometheus["scrape_configs"]}
    assert set(jobs) == {"shard", "embedding-worker", "trainer"}
    assert set(jobs.values()) <= known
