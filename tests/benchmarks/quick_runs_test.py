"""The shortest run of each benchmark still works. Its figures are not checked."""

import json
import os
import subprocess
import sys

import native_programs
import pytest

_SECONDS = 600


def refuse(constant):
    raise AssertionError(f"a figure is {constant}")


def check_run(name, folder):
    ended = subprocess.run(
        [sys.executable, native_programs.ROOT / f"benchmarks/{name}.py", "--quick"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    last = ended.stdout.splitlines()[-1]
    assert json.loads(last, parse_constant=refuse)["figures"]
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(
    not native_programs.can_build(), reason="native programs cannot be built here"
)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("chosen_ids", marks=pytest.mark.slow),
        "log_bench",
        "store_bench",
        "tls_bench",
    ],
)
def test_one_of_a_native_program(name, tmp_path):
    check_run(name, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "checkpoint_bench",
        pytest.param("cold_start", marks=pytest.mark.slow),
        pytest.param("failover_bench", marks=pytest.mark.slow),
        pytest.param("freshness", marks=pytest.mark.slow),
        pytest.param("metrics_cost", marks=pytest.mark.slow),
        pytest.param("model_server_bench", marks=pytest.mark.slow),
        pytest.param("model_server_flood", marks=pytest.mark.slow),
        pytest.param("moving_updates", marks=pytest.mark.slow),
        pytest.param("plan_check", marks=pytest.mark.slow),
        pytest.param("recovery_bench", marks=pytest.mark.slow),
        pytest.param("remote_serving_bench", marks=pytest.mark.slow),
        pytest.param("reshard_bench", marks=pytest.mark.slow),
        pytest.param("serving_bench", marks=pytest.mark.slow),
        pytest.param("soak", marks=pytest.mark.slow),
        pytest.param("staleness_skew", marks=pytest.mark.slow),
        pytest.param("worker_scaling", marks=pytest.mark.slow),
        pytest.param("xla_dense", marks=pytest.mark.slow),
    ],
)
def test_one_of_python(name, tmp_path):
    check_run(name, tmp_path)


def _can_make_networks():
    """Whether network namespaces can be made here, as root with iproute2."""
    name = f"persia{os.getpid()}try"
    try:
        for action in ("add", "del"):
            subprocess.run(
                ["ip", "netns", action, name], check=True, capture_output=True
            )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(
    not _can_make_networks(), reason="network namespaces cannot be made here"
)
@pytest.mark.parametrize(
    "name", ["cost_model_bench", "encoded_bytes", "hierarchical_bench"]
)
def test_one_of_a_network(name, tmp_path):
    check_run(name, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("PERSIA_TF_DATA"), reason="PERSIA_TF_DATA names no data"
)
@pytest.mark.parametrize("name", ["encoded_accuracy", "reader_bench"])
def test_one_of_real_data(name, tmp_path):
    check_run(name, tmp_path)
