"""`--metrics-port` of servers."""

import re
import socket
import sys
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families


def get(url):
    """The samples at a URL: each value by the metric's name and its labels."""
    with urllib.request.urlopen(url, timeout=30) as reply:
        text = reply.read().decode()
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def info(samples):
    """The labels of `persia_server_info`."""
    (labels,) = [dict(key[1:]) for key in samples if key[0] == "persia_server_info"]
    return labels


def url_of(command):
    (told,) = command.wait_for(r"Metrics on (\S+)")
    return told[1]


def test_a_shard_serves_its_metrics(start_ps, tmp_path):
    ports = tmp_path / "ports"
    command, address, control = start_ps(
        "--metrics-port=0",
        f"--recovery-folder={tmp_path / 'recovery'}",
        "--memory-limit=1GiB",
        f"--port-file={ports}",
    )
    url = url_of(command)
    samples = get(url)
    assert info(samples)["address"] == address
    assert info(samples)["role"] == "shard"
    assert samples["persia_server_ready",] == 1
    assert samples["persia_store_memory_limit_bytes",] == 2**30
    assert samples["persia_volume_free_bytes", ("folder", "recovery")] > 0
    listed = [f"127.0.0.1:{port}" for port in ports.read_text().split()]
    assert listed == [address, control, re.search(r"//([^/]+)/", url)[1]]


def test_a_workers_metrics_do_not_wait_for_its_shards(start_server, unused_address):
    command, address, _ = start_server(
        "worker", f"--ps={unused_address}", "--metrics-port=0"
    )
    labels = info(get(url_of(command)))
    assert (labels["address"], labels["role"]) == (address, "worker")


def test_a_replica_that_has_no_rows_yet_is_not_ready(start_server, unused_address):
    command, _, _ = start_server(
        "ps", f"--replica-of={unused_address}", "--metrics-port=0"
    )
    samples = get(url_of(command))
    assert samples["persia_server_ready",] == 0
    assert info(samples)["role"] == "replica"
    assert info(samples)["source"] == unused_address


def test_without_the_option_there_is_no_endpoint(start_ps, terminate, tmp_path):
    command, _, _ = start_ps(f"--port-file={tmp_path / 'ports'}")
    assert terminate(command) == 0
    assert "Metrics" not in command.stderr
    assert len((tmp_path / "ports").read_text().split()) == 2


def test_a_launch_gives_every_process_its_port(persia):
    ask = "import os; print(os.environ['PERSIA_METRICS_PORT'])"
    command = persia(
        *("launch", "--ps=2", "--embedding-workers=1", "--workers=2"),
        *("--metrics-port=0", "--", sys.executable, "-c", ask),
    )
    assert command.wait() == 0, command.stderr
    assert len(command.wait_for(r"Metrics on http://127\.0\.0\.1:\d+/metrics", 3)) == 3
    assert command.stdout == "0\n"
    command.wait_for(r"\[program 1\] 0")


@pytest.mark.parametrize("standbys", [0, 1])
def test_the_ports_of_a_launch_follow_each_other(persia, standbys):
    with socket.create_server(("127.0.0.1", 0)) as used:
        first = used.getsockname()[1]
    ask = "import os; print(os.environ['PERSIA_METRICS_PORT'])"
    command = persia(
        *("launch", "--ps=1", "--embedding-workers=1", f"--metrics-port={first}"),
        *(f"--standbys={standbys}", "--", sys.executable, "-c", ask),
    )
    ports = list(range(first, first + 2 + standbys))
    # Another program may have taken one of the ports after the first meanwhile.
    if command.wait() != 0:
        busy = re.search(r"cannot listen on \S+:(\d+) for metrics", command.stderr)
        assert busy and int(busy[1]) in ports[1:]
        return
    assert command.stdout == f"{ports[-1] + 1}\n"
    told = command.wait_for(r"(\w+) 0b?\] .* http://127.0.0.1:(\d+)/m", len(ports))
    assert sorted(int(match[2]) for match in told) == ports
    [worker] = [int(match[2]) for match in told if match[1] == "worker"]
    assert worker == ports[-1]


def test_a_launch_whose_ports_would_be_too_high_is_refused(persia):
    command = persia(
        *("launch", "--ps=2", "--embedding-workers=1", "--metrics-port=65533"),
        *("--", sys.executable, "-c", "print('it ran')"),
    )
    assert command.wait() == 1
    assert command.stderr == (
        "persia launch: --metrics-port 65533 is the first of 4 ports, one for each "
        "process, but the last one would be 65536, above 65535: give a lower one, or 0 "
        "for any free ones\n"
    )
    assert command.stdout == ""


def test_a_program_that_trains_tells_where_its_metrics_are(persia):
    program = """
import persia_tf as ptf
assert ptf.Cluster().session is not None
"""
    command = persia(
        *("launch", "--metrics-port=0", "--", sys.executable, "-c", program),
    )
    assert command.wait() == 0, command.stderr
    # That of the shard, and that of the program.
    command.wait_for(r"INFO persia.ps \S+: Metrics on http://127\.0\.0\.1:\d+/metrics")
    command.wait_for(r"\nMetrics on http://127\.0\.0\.1:\d+/metrics\n")


def test_a_busy_metrics_port_is_an_error(persia, start_ps):
    command, _, _ = start_ps("--metrics-port=0")
    port = re.search(r":(\d+)/", url_of(command))[1]
    second = persia("ps", "--port=0", f"--metrics-port={port}")
    assert second.wait() == 1
    assert f"cannot listen on 127.0.0.1:{port} for metrics" in second.stderr


def test_a_shard_with_metrics_ends_in_time_although_a_client_is_idle(
    start_ps, terminate
):
    command, _, _ = start_ps("--metrics-port=0")
    port = int(re.search(r":(\d+)/", url_of(command))[1])
    with socket.create_connection(("127.0.0.1", port)):
        assert terminate(command) == 0
